"""The check of wording: what it must find, and what it must not."""

import pathlib
import tempfile
import textwrap
import unittest

from ..wording import commits, rules, sources

RULES, _ = rules.load()


def found(text: str, path: str = "crates/server/src/example.rs", in_tests: bool = False) -> list[str]:
    """Each finding as `line:column found`."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, pathlib.PurePath(path).name)
        file.write_text(textwrap.dedent(text))
        texts = sources.read(file, in_tests)
    findings = [finding for rule in RULES for finding in rule.findings(path, texts)]
    findings.sort(key=lambda finding: (finding.line, finding.column))
    return [f"{finding.line}:{finding.column} {finding.found}" for finding in findings]


def in_markdown(text: str) -> list[str]:
    return found(text, "docs/example.md")


class Prose(unittest.TestCase):
    def test_words_of_the_glossary_are_found_in_markdown(self):
        self.assertEqual(in_markdown("# The door\n\nIt is opened anew.\n"), ["1:7 door", "3:14 anew"])

    def test_a_phrase_is_found_across_a_line_end(self):
        self.assertEqual(in_markdown("The server is\ntold the weight.\n"), ["1:12 is told"])

    def test_is_no_name_is_found_and_there_is_no_name_is_allowed(self):
        self.assertEqual(in_markdown("It is no name.\n"), ["1:4 is no name"])
        for text in ("There is no name.", "Where there\nis no name.", "Is there no name?", "It is no longer valid."):
            self.assertEqual(in_markdown(text), [], text)

    def test_inline_code_and_links_are_not_prose(self):
        self.assertEqual(in_markdown("The key `door`, a [page](the-door.md), https://example.com/door.\n"), [])

    def test_comments_in_fenced_code_are_prose(self):
        self.assertEqual(in_markdown("```sh\nserow reload   # read it anew\n```\n"), ["2:26 anew"])

    def test_a_part_between_markers_is_ignored(self):
        self.assertEqual(in_markdown("<!-- wording: ignore -->\nanew\n<!-- wording: check -->\nanew\n"), ["4:1 anew"])

    def test_a_sentence_with_who_as_its_subject_is_found_and_a_question_is_not(self):
        self.assertEqual(in_markdown("Who posts has to show the token.\n"), ["1:1 Who"])
        self.assertEqual(in_markdown("Who posts, and who shows the token?\n"), [])
        self.assertEqual(in_markdown("The user who posts shows the token.\n"), [])

    def test_sentences_have_a_subject_that_acts(self):
        self.assertEqual(in_markdown("What is kept is small. Nobody reads it.\n"), ["1:1 What", "1:24 Nobody"])
        self.assertEqual(in_markdown("## What is kept?\n"), [])
        self.assertEqual(found("// Whoever waits\n// is woken.\nfn what_is_kept() {}\n"), ["1:4 Whoever", "3:4 what_is_kept"])
        self.assertEqual(found("# Kept:\n# What is left.\ndef test_who_waits(): pass\n", "tests/example.py"),
                         ["2:3 What", "3:5 test_who_waits"])

    def test_requested_things_may_be_asked_for(self):
        self.assertEqual(in_markdown("It was asked for. The client is asked to retry.\n"), [])


class Rust(unittest.TestCase):
    def test_rustdoc_is_checked_and_ordinary_comments_are_not(self):
        self.assertEqual(found("/// Opened\n/// anew.\n// anew\nfn open() {}\n"), ["2:5 anew"])

    def test_messages_are_checked_and_placeholders_are_not(self):
        self.assertEqual(found('fn f() { print("{anew} is no path"); }\n'), ["1:24 is no path"])

    def test_a_phrase_does_not_cross_two_strings(self):
        self.assertEqual(found('const A: [&str; 2] = ["it is", "told"];\n'), [])

    def test_a_string_goes_on_behind_an_escaped_line_end(self):
        self.assertEqual(found('const A: &str = "it is \\\n    told";\n'), ["1:21 is told"])

    def test_raw_strings_and_characters_do_not_confuse_the_reader(self):
        text = "const A: (&str, char) = (r#\"a \"quoted\" anew\"#, '\"');\n/// anew\nfn f<'a>() {}\n"
        self.assertEqual(found(text), ["1:40 anew", "2:5 anew"])

    def test_strings_of_tests_are_not_checked_and_names_are(self):
        self.assertEqual(found("""\
            #[cfg(test)]
            mod tests {
                fn opens_the_door() { print("anew") }
            }
            /// anew
            fn f() {}
            """), ["3:8 opens_the_door", "5:5 anew"])
        self.assertEqual(found('fn door() { print("anew") }', in_tests=True), ["1:4 door"])

    def test_a_name_is_found_once_a_file(self):
        self.assertEqual(found("struct DoorSettings;\nfn f(a: DoorSettings) {}\n"), ["1:8 DoorSettings"])

    def test_only_whole_words_of_a_name_count(self):
        self.assertEqual(found("struct Indoors; fn doorway() {}\n"), [])

    def test_constants_and_error_types(self):
        text = "const MOST_BYTES: usize = 1;\nstruct Misuse;\nenum E { Misuse }\n"
        self.assertEqual(found(text), ["1:7 MOST_BYTES", "2:8 Misuse"])

    def test_message_types(self):
        self.assertEqual(found("enum WorkerWord {}\nstruct Password;\nenum Keyword {}\n"), ["1:6 WorkerWord"])

    def test_file_names(self):
        self.assertEqual(found("", "crates/cli/src/configuration/door.rs"), ["1:1 door"])
        self.assertEqual(found("", "crates/cli/src/written/size.rs"), ["1:1 written"])

    def test_modules_for_tests_only(self):
        text = "#[cfg(test)]\nmod tests;\nmod other;\n#[cfg(test)]\npub(crate) mod support;\n"
        self.assertEqual(sources.test_modules(text), ["tests", "support"])


class Rules(unittest.TestCase):
    def rules(self, exceptions: str) -> list[rules.Rule]:
        text = "[[rule]]\ntext = '\\brecords?\\b'\nnames = 'record'\nwrite = 'entry'\nexample = 'A record'\n"
        return rules.load(f"{text}except = [{exceptions}]\n")[0]

    def findings(self, text: str, exceptions: str, path: str = "a.rs") -> int:
        (rule,) = self.rules(exceptions)
        return len(rule.findings(path, sources.rust(text, False)))

    def test_every_rule_finds_its_example(self):
        for rule in RULES:
            path = rule.paths[0].replace("*", "x") if rule.paths else "crates/x/src/x"
            path = path if path.endswith(".md") else f"{path}.rs"
            renderings = [(path, f"/// {rule.example}\nfn f() {{}}\n"), (path, rule.example), (rule.example, "")]
            findings = [rule.findings(path, sources.rust(text, False)) for path, text in renderings]
            self.assertTrue(any(findings), rule.example)

    def test_an_exception_covers_the_text_around_a_word(self):
        exceptions = "{ text = 'TLS records?', reason = 'RFC 8446' }"
        self.assertEqual(self.findings("/// A TLS\n/// record.\nfn f() {}", exceptions), 0)
        self.assertEqual(self.findings("/// A TLS record, and a record.\nfn f() {}", exceptions), 1)

    def test_an_exception_can_be_for_names_in_some_paths(self):
        exceptions = "{ names = 'open_record', paths = ['tls/*'], reason = 'RFC 8446' }"
        self.assertEqual(self.findings("fn open_record() {}", exceptions, "tls/a.rs"), 0)
        self.assertEqual(self.findings("fn open_record() {}", exceptions, "log/a.rs"), 1)

    def test_an_exception_needs_a_reason(self):
        with self.assertRaises(KeyError):
            self.rules("{ text = 'TLS records?' }")

    def test_an_unknown_key_is_an_error(self):
        with self.assertRaises(ValueError):
            rules.load("[[rule]]\nwrite = 'x'\nwords = 'y'\n")


class Commits(unittest.TestCase):
    def test_a_subject_of_72_characters_is_short_enough(self):
        self.assertEqual(commits.complaint(f"1234567\t{'x' * 72}"), "")
        self.assertIn("73 characters", commits.complaint(f"1234567\t{'x' * 73}"))
