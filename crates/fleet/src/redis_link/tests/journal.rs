//! Commands to all servers, in a real Redis.

use super::*;
use crate::{EntryState, FleetJournal, JournalFile, JournalFunctions, ServerId, SharedJournal};

/// A server that executes commands by noting them.
struct Member {
    fleet: Arc<Fleet>,
    journal: Arc<SharedJournal>,
    executed: Mutex<Vec<String>>,
    _thread: FleetThread,
}

impl Member {
    fn start(settings: FleetSettings, number: u64) -> Self {
        Self::with(settings, FleetJournal::new(ServerId(number)))
    }

    fn with(settings: FleetSettings, journal: FleetJournal) -> Self {
        let fleet = Arc::new(Fleet::new(settings));
        let name = journal.server().to_string();
        let functions = JournalFunctions {
            clock: || u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap(),
            notify: Box::new(|| ()),
            report: Box::new(move |counts| format!("{name} has {}", counts.entries)),
        };
        let journal = Arc::new(SharedJournal::new(journal, functions));
        fleet.attach(Arc::clone(&journal));
        let thread = fleet.start().unwrap();
        Self { fleet, journal, executed: Mutex::default(), _thread: thread }
    }

    fn give(&self, subject: &str, command: &str) {
        let mut journal = self.journal.lock();
        let entry = journal.prepare(subject, command.to_owned(), Some(3600), self.journal.now()).unwrap();
        journal.add_given(entry);
    }

    fn executed(&self) -> Vec<String> {
        let mut executed = self.executed.lock().unwrap();
        let mut journal = self.journal.lock();
        while let Some(entry) = journal.next_waiting() {
            journal.note_outcome(&entry, EntryState::Applied);
            executed.push(entry.command);
        }
        executed.clone()
    }

    fn is_idle(&self) -> bool {
        let counts = self.journal.lock().counts();
        self.fleet.report().is_connected && counts.behind + counts.unsent == 0 && !self.journal.lock().has_more()
    }
}

#[test]
fn commands_reach_all_servers_in_order_also_after_redis_was_away_or_emptied() {
    requires!("program:redis-server");
    let mut server = Server::start(&[]);
    let [one, two] = [1, 2].map(|number| Member::start(server.settings(), number));
    one.give("a", "first");
    one.give("b", "second");
    eventually("they have arrived", || two.executed() == ["first", "second"]);
    assert_eq!(one.executed(), Vec::<String>::new());
    // Redis is away, and empty afterwards.
    eventually("all is exchanged", || one.is_idle() && two.is_idle());
    server.stop();
    two.give("a", "third");
    two.give("c", "fourth");
    two.give("c", "fifth");
    server.restart();
    eventually("they have arrived later", || one.executed() == ["third", "fifth"]);
    let late = Member::start(server.settings(), 3);
    eventually("a new server has all", || late.executed() == ["second", "third", "fifth"]);
    // Without the end of a connection.
    server.command(&["FLUSHALL"]);
    one.give("d", "sixth");
    for (member, expected) in [(&two, 3), (&late, 4)] {
        eventually("the last has arrived", || member.executed().last().unwrap() == "sixth");
        assert_eq!(member.executed().len(), expected);
    }
    eventually("Redis has all again", || server.command(&["HLEN", "serow:{fleet}:journal"]) == "4");
    assert_eq!(server.command(&["ZCARD", "serow:{fleet}:journal-order"]), "4");
}

#[test]
fn entries_that_are_not_serows_are_left_out() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let one = Member::start(server.settings(), 1);
    one.give("a", "first");
    let key = "serow:{fleet}:journal";
    eventually("Redis has it", || server.command(&["HLEN", key]) == "1");
    let value = server.command(&["HGET", key, "a"]);
    for (number, (subject, value)) in [
        ("b c", value.as_str()),
        ("nothing", ""),
        ("text", "some text"),
        (&"long".repeat(100), &value),
        ("stamp", "1744674407370955161500000000000000ff 0 x"),
    ]
    .iter()
    .enumerate()
    {
        server.command(&["HSET", key, subject, value]);
        server.command(&["ZADD", "serow:{fleet}:journal-order", &(100 + number).to_string(), subject]);
    }
    let long = "redis.call('HSET', KEYS[1], 'value', ARGV[1] .. ' 0 ' .. string.rep('x', 200000))";
    server.command(&["EVAL", long, "1", key, &value[..36]]);
    server.command(&["ZADD", "serow:{fleet}:journal-order", "150", "value", "151", "without a value"]);
    server.command(&["HSET", "serow:{fleet}:journal-head", "last", "200"]);
    let two = Member::start(server.settings(), 2);
    eventually("the entry has arrived", || two.executed() == ["first"]);
    two.give("text", "mine");
    eventually("a later command takes the place of a text", || one.executed() == ["mine"]);
    assert_eq!((one.journal.lock().entries().len(), two.journal.lock().counts().ahead), (2, 1));
    // A key of another kind is an error of the journal only.
    let head = "serow:{fleet}:journal-head";
    server.command(&["SET", head, "text"]);
    eventually("there is an error", || one.last_error().contains("WRONGTYPE"));
    assert!(one.is_in_contact() && server.command(&["GET", head]) == "text");
}

#[test]
fn servers_know_of_one_another_and_of_those_that_were_there() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let (_, kept) = JournalFile::open(folder.path()).unwrap();
    let number = kept.server();
    let [one, two] = [Member::start(server.settings(), 7), Member::with(server.settings(), kept)];
    let servers = |member: &Member| {
        let mut servers = member.fleet.report().servers;
        servers.sort_by_key(|report| report.server != ServerId(7));
        servers.into_iter().map(|report| (report.server, report.text)).collect::<Vec<_>>()
    };
    let text = |server: ServerId| (server, format!("{server} has 0"));
    eventually("both are listed", || servers(&one) == [text(ServerId(7)), text(number)]);
    drop(two);
    server.command(&["HSET", "serow:{fleet}:servers", "x", "y"]);
    let age = || one.fleet.report().servers.iter().find(|report| report.server == number).map(|report| report.age);
    eventually("one has gone", || age().is_some_and(|age| age > Duration::from_millis(1500)));
    assert_eq!(server.command(&["HLEN", "serow:{fleet}:servers"]), "2");
}

impl Member {
    fn is_in_contact(&self) -> bool {
        self.fleet.peers().are_in_contact(clock::now())
    }

    fn last_error(&self) -> String {
        self.fleet.report().last_error.unwrap_or_default()
    }
}
