//! The pages of the commands.

use clap::{Arg, Command};

use super::{
    examples::{self, page_name},
    option_text::{ARGUMENTS, OPTIONS, OptionText, heading, is_shown},
    roff::{ManPage, escaped, usage},
};

/// `serow.1`, and a page for each command. Subcommands of a command that does nothing without them are on its page.
pub(super) fn pages(root: &Command) -> Vec<ManPage> {
    let mut pages = vec![overview(root)];
    for command in root.get_subcommands().filter(|command| is_command(command)) {
        let name = format!("serow-{}", command.get_name());
        pages.push(page(&name, command));
        if !command.is_subcommand_required_set() {
            let below = command.get_subcommands().filter(|command| is_command(command));
            pages.extend(below.map(|below| page(&format!("{name}-{}", below.get_name()), below)));
        }
    }
    pages
}

fn is_command(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn overview(root: &Command) -> ManPage {
    let mut page = ManPage::new("serow", 1, &summary(root));
    synopsis(&mut page, root);
    page.heading("DESCRIPTION");
    OVERVIEW.split("\n\n").for_each(|paragraph| page.paragraph(paragraph));
    page.heading("COMMANDS");
    for command in root.get_subcommands().filter(|command| is_command(command)) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        page.entry(&page_name(&format!("serow-{}", command.get_name()), 1), &[format!("{about}.")]);
    }
    page.heading("OPTIONS");
    page.entry(&usage("-h, --help"), &["Print the options of a command; `--help` explains them.".to_owned()]);
    page.entry(&usage("-V, --version"), &["Print the version.".to_owned()]);
    behind(&mut page, root);
    page.heading("FILES");
    page.entry("\\fIserow.toml\\fR", &["The settings file of `serow run`, in the current folder.".to_owned()]);
    page.entry("\\fI/run/serow/admin.sock\\fR", &["The admin socket, if a command names no other.".to_owned()]);
    exit_status(&mut page);
    let commands = root.get_subcommands().filter(|command| is_command(command));
    let mut others: Vec<_> = commands.map(|command| (format!("serow-{}", command.get_name()), 1)).collect();
    others.push(("serow.toml".to_owned(), 5));
    others.sort_by_key(|(name, section)| (*section, name.clone()));
    page.see_also(&others);
    page
}

fn page(name: &str, command: &Command) -> ManPage {
    let mut page = ManPage::new(name, 1, &summary(command));
    synopsis(&mut page, command);
    page.heading("DESCRIPTION");
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    paragraphs(&about).iter().for_each(|paragraph| page.paragraph(paragraph));
    let mut arguments: Vec<&Arg> = command.get_arguments().collect();
    if command.is_subcommand_required_set() {
        page.heading("COMMANDS");
        for below in command.get_subcommands().filter(|below| is_command(below)) {
            let about = below.get_long_about().or(below.get_about()).map(ToString::to_string).unwrap_or_default();
            page.entry(&usage(&usage_lines(below).join(" ")), &paragraphs(&about));
            arguments.extend(below.get_arguments());
        }
    }
    options(&mut page, &arguments);
    behind(&mut page, command);
    exit_status(&mut page);
    page.see_also(&[("serow".to_owned(), 1), ("serow.toml".to_owned(), 5)]);
    page
}

/// Summarises the command, for the line of apropos(1).
fn summary(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default().replace('`', "");
    let mut characters = about.trim_end_matches('.').chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

fn synopsis(page: &mut ManPage, command: &Command) {
    page.heading("SYNOPSIS");
    page.lines(usage_lines(command).iter().map(|line| usage(line)));
}

/// How the command is called, without clap's brackets around placeholders.
fn usage_lines(command: &Command) -> Vec<String> {
    let usage = command.clone().render_usage().to_string().replace(['<', '>'], "");
    let usage = usage.strip_prefix("Usage:").unwrap_or(&usage);
    usage.lines().map(|line| line.trim().to_owned()).collect()
}

/// Arguments and options below their headings; each once, if several subcommands share it.
fn options(page: &mut ManPage, arguments: &[&Arg]) {
    let mut shown: Vec<(&str, OptionText)> = Vec::new();
    for argument in arguments.iter().filter(|argument| is_shown(argument)) {
        let option = (heading(argument), OptionText::new(argument));
        if !shown.contains(&option) {
            shown.push(option);
        }
    }
    let mut headings: Vec<&str> = Vec::new();
    for (heading, _) in &shown {
        if !headings.contains(heading) {
            headings.push(heading);
        }
    }
    headings.sort_by_key(|heading| *heading != ARGUMENTS);
    let mut is_below_options = false;
    for heading in headings {
        match heading {
            ARGUMENTS => page.heading(heading),
            _ if !is_below_options => {
                page.heading("OPTIONS");
                is_below_options = true;
            }
            _ => {}
        }
        if ![ARGUMENTS, OPTIONS].contains(&heading) {
            page.subheading(heading);
        }
        for (_, option) in shown.iter().filter(|(below, _)| *below == heading) {
            page.entry(&usage(&option.name), &option.paragraphs());
        }
    }
}

fn behind(page: &mut ManPage, command: &Command) {
    if let Some(text) = command.get_after_long_help().or(command.get_after_help()) {
        examples::push(page, &text.to_string());
    }
}

fn exit_status(page: &mut ManPage) {
    page.heading("EXIT STATUS");
    for (status, meaning) in EXIT_STATUS {
        page.entry(&format!("\\fB{}\\fR", escaped(status)), &[meaning.to_owned()]);
    }
}

fn paragraphs(text: &str) -> Vec<String> {
    let text = format!("{}.", text.trim_end_matches('.'));
    text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

const EXIT_STATUS: [(&str, &str); 3] = [
    ("0", "The command has done its work, or a signal stopped the server gracefully."),
    ("1", "The command failed; standard error says why, and what to do."),
    ("2", "The command line or the settings file is wrong."),
];

const OVERVIEW: &str = "\
Serow is a web server for HTTP/1.1, HTTP/2 and HTTP/3. It serves files, proxies and balances requests, runs applications in \
Ruby, Perl, Python and any other language, and generates load to measure servers.

Without a command, `serow` serves a folder: `serow DIR` is short for `serow files DIR`. `serow run` runs the \
server that a settings file describes, which can host several sites.";
