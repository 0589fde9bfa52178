//! Tests of scripts: a file in Lua that names a script, and cases of requests with what is expected of them.

mod canned;
mod case;
mod expectation;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use mlua::{Table, Value};
use serow_message::TrustedProxies;

use self::{canned::CannedServers, case::Case};
use crate::lua::{budget::Spent, loading::Loading, script_source::ScriptSource, state::LOAD_TIME, value_kind::kind};
use crate::{Script, ScriptError, ScriptLimits, Servers, TestOutcome};

/// A test of a script: cases, which are run in their order and without a server.
pub struct ScriptTest {
    script: Script,
    servers: Arc<CannedServers>,
    cases: Vec<Case>,
}

impl ScriptTest {
    /// Reads a test, and the script that it names.
    ///
    /// # Errors
    ///
    /// One of the files cannot be read, is not Lua, or raises an error; or the test is not one.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let file = ScriptSource::read(path, ScriptLimits::default(), TrustedProxies::default(), Servers::default())?;
        let file = Arc::new(file);
        let loading = Loading::new(&file)?;
        let value = loading.budget.limit(LOAD_TIME, &mut Spent::default(), || loading.run(&file))?;
        let (script, cases) = read(&value).map_err(|text| ScriptError::new(format_args!("{}: {text}", file.name)))?;
        let script = path.parent().unwrap_or(Path::new("")).join(script);
        let servers = Arc::new(CannedServers::default());
        let asked = Servers { fetch: Arc::clone(&servers) as _, redis: Some(Arc::clone(&servers) as _) };
        let script = Script::read(&script, ScriptLimits::default(), TrustedProxies::default(), asked)?;
        Ok(Self { script, servers, cases })
    }

    /// How messages name the script.
    #[must_use]
    pub fn script_name(&self) -> &str {
        self.script.name()
    }

    /// Runs all cases, one after the other, in one state of the script. Needs a runtime of tokio with time.
    pub async fn run(&self) -> Vec<TestOutcome> {
        let mut outcomes = Vec::with_capacity(self.cases.len());
        for case in &self.cases {
            self.servers.replace(case.servers.clone());
            outcomes.push(TestOutcome { name: case.name.clone(), problems: case.run(&self.script).await });
        }
        outcomes
    }
}

/// The path of the script, and the cases.
fn read(value: &Value) -> Result<(PathBuf, Vec<Case>), String> {
    let Value::Table(table) = value else {
        return Err(format!("a test returns a table with `script` and cases, not {}", kind(value)));
    };
    let (mut script, mut cases) = (None, Vec::new());
    for pair in table.pairs::<Value, Value>() {
        match pair.map_err(|error| error.to_string())? {
            (Value::String(key), Value::String(path)) if key == "script" => {
                script = Some(PathBuf::from(path.to_string_lossy().to_string()));
            }
            (Value::Integer(number), Value::Table(case)) => cases.push((number, case)),
            (key, _) => {
                let key = key.to_string().unwrap_or_default();
                return Err(format!(
                    "{key:?} does not belong in a test: there are `script`, a path, and cases, tables"
                ));
            }
        }
    }
    let script = script.ok_or("the test names no script: write script = \"rules.lua\"")?;
    if cases.is_empty() {
        return Err("the test has no case: write { request = \"/old\", response = { status = 301 } }".to_owned());
    }
    cases.sort_by_key(|(number, _)| *number);
    let cases = cases.iter().map(|(number, table): &(_, Table)| Case::read(*number, table));
    Ok((script, cases.collect::<Result<_, _>>()?))
}
