#!/bin/bash
# Proves that the protocol crates are pure: no socket, clock or thread can slip into what has no standard library and
# depends on nothing that does I/O. Needs a stable toolchain only.
set -euo pipefail
case ${1-} in
--help | -h)
    echo "usage: tests/purity.sh"
    echo
    sed -n '2,3s/^# //p' "$0"
    exit
    ;;
esac
cd "$(dirname "$0")/.."

# Dependencies that a pure crate may have: buffers, the types of `http`, a short list, and our types without the feature
# `std`.
allowed=" bytes http itoa smallvec serow-message serow-streams "
pure=(serow-http1 serow-streams serow-http2 serow-http3 serow-pacing serow-fastcgi)

fail() {
    echo "purity: $*" >&2
    exit 1
}

wasm=wasm32-unknown-unknown
has_wasm=no
if rustup target list --installed 2>/dev/null | grep -qx $wasm || rustup -q target add $wasm 2>/dev/null; then
    has_wasm=yes
fi

for crate in "${pure[@]}"; do
    folder=crates/${crate#serow-}
    for rule in '#![no_std]' '#![forbid(unsafe_code)]'; do
        grep -qxF "$rule" "$folder/src/lib.rs" || fail "$crate does not say $rule"
    done
    # Tests may use the standard library; they stand at the end of a file.
    while IFS= read -r file; do
        if sed '/#\[cfg(test)\]/,$d' "$file" | grep -nE '^[^/]*(extern crate std|\bstd::)'; then
            fail "$file uses the standard library"
        fi
    done < <(find "$folder/src" -name '*.rs' -not -name 'tests.rs')

    tree=$(cargo tree -q -p "$crate" -e normal --prefix none --no-dedupe -f '{p}|{f}' | sort -u)
    while IFS='|' read -r package features; do
        name=${package%% *}
        [ "$name" = "$crate" ] && continue
        [[ $allowed == *" $name "* ]] || fail "$crate depends on $name"
        if [ "$name" = serow-message ] && [[ ,$features, == *,std,* || ,$features, == *,default,* ]]; then
            fail "$crate builds serow-message with the features $features"
        fi
    done <<<"$tree"

    # By itself, so that no other crate of the workspace adds the feature `std` to serow-message.
    cargo check -q --profile checked -p "$crate" || fail "$crate does not build by itself"
    if [ $has_wasm = yes ]; then
        cargo build -q -p "$crate" --target $wasm || fail "$crate does not build for $wasm"
    fi
    echo "purity: $crate is pure ($(wc -l <<<"$tree") packages)"
done

# The settings language runs without an operating system, as in a web page or an editor. As many cases of settings files as
# before end there as in the program; the others have problems that only the running parts can find.
if [ $has_wasm = yes ]; then
    cargo build -q -p serow-wasm --target $wasm || fail "serow-config does not build for $wasm"
    module=${CARGO_TARGET_DIR:-target}/$wasm/debug/serow_wasm.wasm
    node tests/wasm/cases.mjs "$module" crates/cli/tests/configuration --at-least 397 || fail "settings in WebAssembly"
else
    echo "purity: skipped for WebAssembly; run: rustup target add $wasm"
    [ -z "${SEROW_SKIPPED-}" ] || echo "no target $wasm (rustup target add $wasm)" >>"$SEROW_SKIPPED"
fi
