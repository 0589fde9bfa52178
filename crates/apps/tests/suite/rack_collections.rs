//! Garbage collection of Ruby applications between requests.

use crate::support::{Running, content, eventually, settings};
use serow_apps::Interface;
use serow_requirements::requires;

/// Answers with the collections since it was loaded, of which Ruby itself begins none.
const COUNTING: &str = "GC.disable\nloaded = GC.count\nrun ->(env) { [200, {}, [(GC.count - loaded).to_s]] }\n";

fn counting(out_of_band_gc: Option<u32>, workers: usize) -> Running {
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", COUNTING);
    settings.out_of_band_gc = out_of_band_gc;
    settings.run.processes = workers.try_into().unwrap();
    Running::new((settings, folder))
}

fn counts(running: &Running) -> [u32; 60] {
    std::array::from_fn(|_| content(&running.get("/")).parse().unwrap())
}

#[test]
fn idle_workers_collect_after_so_many_requests() {
    requires!("ruby:rack");
    let running = counting(Some(3), 2);
    // Workers take turns.
    assert_eq!(counts(&running)[..6], [0; 6]);
    // The second one may still be loading the application, and the first does not collect before.
    eventually(|| {
        let counts = counts(&running);
        if counts.iter().any(|count| *count > 0) { Ok(()) } else { Err(format!("{counts:?}")) }
    });
}

#[test]
fn collections_run_only_if_set_and_while_another_worker_is_idle() {
    requires!("ruby:rack");
    assert_eq!(counts(&counting(None, 2)), [0; 60]);
    assert_eq!(counts(&counting(Some(3), 1)), [0; 60]);
}

/// Ruby 3.4's interface to the collector, which the bridge uses.
const OF_LATER_RUBY: &str = r#"
class << GC
  attr_accessor :wanted
  def config(options = nil) = options ? @config = options : @config || {}
  def latest_gc_info(key) = (wanted if key == :need_major_by)
end
GC.disable
loaded = GC.count
run ->(env) do
  GC.wanted = (:oldmalloc if env['PATH_INFO'] == '/waste')
  [200, {}, [(GC.count - loaded).to_s]]
end
"#;

#[test]
fn major_collections_run_after_responses() {
    requires!("ruby:rack");
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", OF_LATER_RUBY);
    settings.out_of_band_gc = Some(1000);
    settings.run.processes = std::num::NonZero::<usize>::MIN;
    let running = Running::new((settings, folder));
    let counts = ["/", "/", "/waste", "/", "/waste", "/waste", "/"].map(|path| content(&running.get(path)));
    assert_eq!(counts, ["0", "0", "0", "1", "1", "2", "3"]);
}
