//! dns-01 by a program that changes DNS records, called as lego's provider `exec` calls it.

use std::{io, path::PathBuf, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

use crate::failure::Failure;

/// A program that changes DNS records: `PROGRAM present RECORD VALUE` and `PROGRAM cleanup RECORD VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsCommand {
    /// The program.
    pub program: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// How long name servers take to publish a change.
    pub propagation: Duration,
}

impl DnsCommand {
    /// This program, with two minutes to finish; when it has finished, the record is published.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), timeout: Duration::from_secs(120), propagation: Duration::ZERO }
    }

    pub(super) async fn present(&self, record: &str, value: &str) -> Result<(), Failure> {
        self.run("present", record, value).await?;
        tokio::time::sleep(self.propagation).await;
        Ok(())
    }

    pub(super) async fn clean_up(&self, record: &str, value: &str) -> Result<(), Failure> {
        self.run("cleanup", record, value).await
    }

    async fn run(&self, action: &str, record: &str, value: &str) -> Result<(), Failure> {
        let program = self.program.display();
        let mut command = Command::new(&self.program);
        command.args([action, record, value]).stdin(Stdio::null()).kill_on_drop(true);
        let output = match timeout(self.timeout, command.output()).await {
            Ok(output) => output,
            Err(_) => {
                return Err(Failure::local(format!(
                    "{program} {action} did not finish within {:?} and was killed: run it by hand",
                    self.timeout
                )));
            }
        };
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
                Err(Failure::local(format!("{program} {action} failed ({}): {last}", output.status)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Failure::local(format!("there is no program {program}: set `acme-dns` to its whole path")))
            }
            Err(error) => Err(Failure::local(format!("{program} cannot be started: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Not written by the test: a process that another test starts meanwhile would keep the file open, and it could not
    /// be executed.
    fn program(name: &str) -> DnsCommand {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dns_command/").to_owned() + name;
        DnsCommand { timeout: Duration::from_millis(500), ..DnsCommand::new(program) }
    }

    #[tokio::test]
    async fn the_program_gets_the_arguments_that_lego_gives() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let value = log.to_str().unwrap();
        let command = DnsCommand { timeout: Duration::from_secs(60), ..program("record") };
        command.present("_acme-challenge.a.example.", value).await.unwrap();
        command.clean_up("_acme-challenge.a.example.", value).await.unwrap();
        let expected =
            format!("present _acme-challenge.a.example. {value}\ncleanup _acme-challenge.a.example. {value}\n");
        assert_eq!(fs::read_to_string(log).unwrap(), expected);
    }

    #[tokio::test]
    async fn failures_name_the_program_and_its_last_line() {
        let patient = DnsCommand { timeout: Duration::from_secs(60), ..program("fail") };
        let failure = patient.present("a.", "b").await.unwrap_err();
        assert!(failure.text.ends_with("exit status: 3): two"), "{failure}");
        for (name, expected) in [("hang", "did not finish"), ("missing", "there is no program")] {
            let failure = program(name).present("a.", "b").await.unwrap_err();
            assert!(failure.text.contains(expected), "{failure}");
        }
    }
}
