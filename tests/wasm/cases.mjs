// Runs the settings language in WebAssembly on the cases of `serow check --explain`.
//
// node cases.mjs MODULE FOLDER [--list | --at-least COUNT]
//
// A case passes if the file is valid there and here with the same explanation, or has the same errors. Problems that only
// the running parts find, such as a missing file, are reported by the program alone; --list names those cases.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [module, folder, option, least] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(module), {});
const { memory, room, check, said } = instance.exports;

function answer(text) {
  const bytes = new TextEncoder().encode(text);
  const start = room(bytes.length);
  new Uint8Array(memory.buffer, start, bytes.length).set(bytes);
  const length = check();
  return new TextDecoder().decode(new Uint8Array(memory.buffer, said(), length));
}

// Whether all errors found are among those expected.
function isPartOf(found, expected) {
  const errors = (text) => text.trim().split("\n\n");
  const known = new Set(errors(expected));
  return errors(found).every((error) => known.has(error));
}

const DASHES = "----------\n";
const counts = { same: 0, later: 0, included: 0, different: 0 };
for (const name of readdirSync(folder).filter((name) => name.endsWith(".txt")).sort()) {
  const [input, expected] = readFileSync(join(folder, name), "utf8").split(DASHES);
  const found = answer(input);
  let outcome = "different";
  if (/^include\b/m.test(input)) {
    outcome = "included";
  } else if (expected.startsWith("# serow.toml is valid")) {
    // Above it stands what the program has found on this machine.
    const explanation = expected.split("\n").filter((line) => !line.startsWith("# ")).join("\n");
    outcome = found.startsWith("valid\n") && found.slice(6).trim() === explanation.trim() ? "same" : "different";
  } else if (found.trimEnd() === expected.trimEnd()) {
    outcome = "same";
  } else if (found.startsWith("valid\n") || isPartOf(found, expected)) {
    outcome = "later";
  }
  counts[outcome] += 1;
  if (outcome === "different" || (option === "--list" && outcome === "later")) {
    console.log(`${outcome}: ${name}`);
    if (outcome === "different") console.log(`${found}\n--- expected\n${expected}`);
  }
}
console.log(
  `wasm: ${counts.same} cases as the program says, ${counts.later} whose problem only the program finds, ` +
    `${counts.included} with included files, ${counts.different} different`,
);
if (option === "--at-least" && counts.same < Number(least)) {
  console.log(`wasm: ${least} cases ended as the program says before`);
  process.exit(1);
}
process.exit(counts.different > 0 ? 1 : 0);
