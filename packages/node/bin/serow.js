#!/usr/bin/env node
// Runs the program serow, which is in the package @serow/linux-x64 or @serow/linux-arm64: npm installs the one that
// fits the machine.
//
// Some packages replace such a script with the program in an install script. This one does not: pnpm runs no install
// scripts by default, and many users forbid them. Starting Node costs 40 ms of processor time with Node 22, once.

"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

// The packages beside this one; packages/build compares them with those that it builds.
const PLATFORMS = ["linux-x64", "linux-arm64"];
const FORWARDED = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"];

function fail(message) {
  console.error(`serow: ${message}`);
  process.exit(1);
}

// The path of the program.
function program() {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.includes(platform)) {
    fail(`there is no package for ${platform}; Serow runs on ${PLATFORMS.join(" and ")}`);
  }
  try {
    return require.resolve(`@serow/${platform}/bin/serow`);
  } catch {
    return fail(`the package @serow/${platform} is missing: install serow again, with optional dependencies ` +
      "(npm install --include=optional serow)");
  }
}

// Starts the program beside Node, which stays until the program ends.
function runBeside(path, words) {
  // In a session of its own the program does not receive the terminal's Ctrl-C itself, only from here. If it received
  // both, it would not wait for requests in progress.
  const child = spawn(path, words, { stdio: "inherit", detached: true });
  for (const name of FORWARDED) {
    process.on(name, () => child.kill(name));
  }
  child.on("error", (error) => fail(`${path} does not start: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) {
      process.exit(code);
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // The shell's number for a signal that Node survives.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 1000);
  });
}

const path = program();
const words = process.argv.slice(2);
// Node 22.15 and 23.11 replace themselves with the program, so that nothing stays in memory.
if (typeof process.execve === "function") {
  process.execve(path, [path, ...words]);
} else {
  runBeside(path, words);
}
