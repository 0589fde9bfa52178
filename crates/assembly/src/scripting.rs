//! Scripts around routes, sites and the whole server.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serow_config::{
    paths::resolved,
    tables::root::{ScriptLimitsTable, ScriptsTable},
    values::Size,
};
use serow_document::{Place, Problem, Problems};
use serow_fleet::Fleet;
use serow_gateway::TrustedProxies;
use serow_scripts::{Redis, RouteChoice, Script, ScriptLimits, Servers};
use serow_site::{ScriptedSites, Scripts, Sites};

use crate::{ScriptServers, proxying::Proxying, script_redis::FleetRedis};

/// Reads scripts, each once.
pub(crate) struct Scripting<'a> {
    root: Option<PathBuf>,
    limits: ScriptLimits,
    folder: &'a Path,
    trust: TrustedProxies,
    proxying: &'a Proxying<'a>,
    /// Redis, if it is configured without errors.
    fleet: Option<Arc<Fleet>>,
    /// The servers that scripts ask, made with the first script; nothing where they have errors.
    servers: OnceCell<Option<Arc<ScriptServers>>>,
    /// The scripts by their paths; nothing for one with errors.
    scripts: RefCell<BTreeMap<PathBuf, Option<Script>>>,
    problems: &'a Problems,
}

impl<'a> Scripting<'a> {
    /// Scripts in this folder with these limits, which may ask upstreams and Redis.
    pub(crate) fn new(
        table: ScriptsTable,
        folder: &'a Path,
        trust: TrustedProxies,
        (proxying, fleet): (&'a Proxying<'a>, Option<Arc<Fleet>>),
        problems: &'a Problems,
    ) -> Self {
        let ScriptsTable { script: root, scripts } = table;
        let (ScriptLimitsTable { memory, time }, usual) = (scripts.unwrap_or_default(), ScriptLimits::default());
        let limits = ScriptLimits {
            memory: memory.map_or(usual.memory, Size::in_memory),
            time: time.map_or(usual.time, |span| span.0),
        };
        let place = Place::default().key("scripts");
        if limits.memory < MIN_MEMORY {
            let text = format!("a script needs {} MB at least", MIN_MEMORY >> 20);
            problems.add(Problem::of_value(place.key("memory"), text));
        }
        if limits.time.is_zero() {
            problems.add(Problem::of_value(place.key("time"), "a script needs some time: write time = \"50ms\""));
        }
        let (servers, scripts) = Default::default();
        Self { root, limits, folder, trust, proxying, fleet, servers, scripts, problems }
    }

    /// The handler of all sites behind the script of the root; nothing where that has errors.
    pub(crate) fn around(&self, site: Sites) -> Option<Sites> {
        let scripts = self.before_routes(self.root.as_ref(), &Place::default())?;
        Some(if scripts.is_empty() { site } else { Sites::Scripted(ScriptedSites::new(scripts, site)) })
    }

    /// The script at this place, if one is written there, which can choose the route; nothing where it has errors.
    pub(crate) fn before_routes(&self, path: Option<&PathBuf>, place: &Place) -> Option<Scripts> {
        self.scripts(path, RouteChoice::Open, place)
    }

    fn scripts(&self, path: Option<&PathBuf>, choice: RouteChoice, place: &Place) -> Option<Scripts> {
        let Some(path) = path else { return Some(Scripts::default()) };
        let path = resolved(path, self.folder);
        let mut known = self.scripts.borrow_mut();
        let script = known.entry(path).or_insert_with_key(|path| self.read(path, &place.key("script")));
        script.clone().map(|script| Scripts::new(vec![script], choice))
    }

    /// The script of a route; nothing where it has errors.
    pub(crate) fn of_route(&self, path: Option<&PathBuf>, place: &Place) -> Option<Scripts> {
        self.scripts(path, RouteChoice::Made, place)
    }

    fn read(&self, path: &Path, place: &Place) -> Option<Script> {
        let servers = self.servers.get_or_init(|| {
            let servers = ScriptServers::new(self.proxying.named());
            servers.map_err(|found| self.problems.add(found.problem(place))).ok().map(Arc::new)
        });
        let redis = self.fleet.clone().map(|fleet| Arc::new(FleetRedis(fleet)) as Arc<dyn Redis>);
        let servers = Servers { fetch: servers.clone()?, redis };
        let script = Script::read(path, self.limits, self.trust.clone(), servers);
        script.map_err(|error| self.problems.add(Problem::of_value(place.clone(), error.to_string()))).ok()
    }
}

/// Bytes of memory that a Lua state needs for the libraries and a small script, with some room.
const MIN_MEMORY: usize = 1 << 20;
