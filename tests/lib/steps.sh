# shellcheck shell=bash
# shellcheck disable=SC2154 # $logs, $tier, $touched and $silence_seconds are of tests/run
# The steps of tests/run: what each does, how one is run, and what is said of it. `$logs` is where their output goes,
# `$tier` which tier runs, `$silence_seconds` how long a command may be silent. $1 of a function is said with it.

# A step says that it cannot be done here, and ends with the status that means so.
skip() {
    echo "SKIPPED: $1 — $2"
    return 77
}

# What is missing for the use `$1`, as tests/setup says it; nothing if all is there.
missing_for() {
    tests/setup --check | sed -n "s/^missing: \(.*\) — for $1\$/\1/p" | paste -sd, -
}

# Runs a command in a process group of its own, and ends all of it when nothing is said for too long.
watched() {
    local pid size seen='' since=$SECONDS log self=$BASHPID
    # Not $BASHPID below: within the parentheses that is another shell, whose output is a pipe.
    log=$(readlink "/proc/$self/fd/1")
    # Job control gives it a process group, and does not make it ignore Ctrl-C, as other commands in the background do.
    set -m
    "$@" &
    pid=$!
    set +m
    # shellcheck disable=SC2064 # the process of now
    trap "kill -KILL -- -$pid 2>/dev/null; exit 130" INT TERM
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.1
        size=$(stat -c %s "$log" 2>/dev/null)
        if [ "$size" != "$seen" ]; then
            seen=$size since=$SECONDS
        elif [ $((SECONDS - since)) -gt "$silence_seconds" ]; then
            echo "hangs: nothing was said for $silence_seconds s by: $*"
            kill -KILL -- "-$pid" 2>/dev/null
            break
        fi
    done
    wait "$pid"
}

# What cargo built of the tests, a line each: folder of the package, kind and name of the target, path.
built_tests() {
    local line folder kind name path
    while IFS= read -r line; do
        # Benchmarks are built for clippy only.
        case $line in *'"kind":["bench"]'*) continue ;; *'"test":true},"features"'*'"executable":"'*) ;; *) continue ;; esac
        folder=${line#*\"manifest_path\":\""$PWD"/}
        kind=${line#*\"kind\":[\"}
        name=${line#*\"name\":\"}
        path=${line#*\"executable\":\"}
        printf '%s\t%s\t%s\t%s\n' "${folder%%/Cargo.toml*}" "${kind%%\"*}" "${name%%\"*}" "${path%%\"*}"
    done
}

# Runs built tests, each in the folder of its package as cargo does: those whose `FOLDER KIND NAME` matches the regular
# expression `$1`, and none of those that match `$2`. What follows is given to each of them.
run_tests() {
    local folder kind name path status=0
    while IFS=$'\t' read -r folder kind name path; do
        run_test "$folder" "$kind" "$name" "$path" "${@:3}" || status=1
    done < <(chosen_tests "$@")
    return "$status"
}

# As run_tests, but `$1` of them at once: for those that keep out of each other's way, and wait more than they work.
run_tests_at_once() {
    local at_once=$1 folder kind name path status=0 running=0 number=1000 parts
    shift
    parts=$(mktemp -d)
    chosen_tests "$@" >"$parts/chosen"
    while IFS=$'\t' read -r folder kind name path; do
        if [ "$running" = "$at_once" ]; then
            wait -n || status=1
            running=$((running - 1))
        fi
        run_test "$folder" "$kind" "$name" "$path" "${@:3}" >"$parts/$number" 2>&1 </dev/null &
        running=$((running + 1)) number=$((number + 1))
    done <"$parts/chosen"
    for (( ; running > 0; running--)); do wait -n || status=1; done
    cat "$parts"/[0-9]*
    rm -r "$parts"
    return "$status"
}

# Lines of the list of built tests whose `FOLDER KIND NAME` matches `$1` and not `$2`.
chosen_tests() {
    local folder kind name path
    while IFS=$'\t' read -r folder kind name path; do
        [[ "$folder $kind $name" =~ $1 ]] || continue
        [ -z "${2:-}" ] || [[ ! "$folder $kind $name" =~ $2 ]] || continue
        printf '%s\t%s\t%s\t%s\n' "$folder" "$kind" "$name" "$path"
    done <"$BATHYSCOPE_TESTS_BUILT"
}

# Runs one of them, given as four columns, with what follows as arguments.
run_test() {
    echo "== $1: $2 $3"
    (cd "$1" && CARGO_MANIFEST_DIR=$PWD watched "$4" "${@:5}") || { echo "FAILED: $1 $3"; return 1; }
}

do_setup() { tests/setup; }
do_format() {
    watched cargo fmt --all --check || return
    [ -x tests/browser/node_modules/.bin/prettier ] || { skip 'the format of the front end' 'prettier (tests/setup)' || true; return 0; }
    watched tests/browser/node_modules/.bin/prettier --config web/.prettierrc.json --ignore-path web/.prettierignore --check 'web/static/js/**/*.js' 'web/tests/*.js'
}

# Every step takes the whole workspace and chooses from it: cargo chooses features by what is built together, and would
# build half of everything a second time otherwise.
#
# Clippy is a compiler with more lints, and builds what it looks at: so nothing is read twice. Its warnings are those of `lint`.
do_build() {
    with_clippy watched cargo test --locked --workspace --all-targets --no-run || return
    list_tests >"$BATHYSCOPE_TESTS_BUILT"
}

# Builds what is new of the tests, and lists them as built_tests does.
list_tests() {
    with_clippy cargo test --locked --quiet --workspace --all-targets --no-run --message-format=json | built_tests
}

clippy_driver() { echo "$(rustc --print sysroot)/bin/clippy-driver"; }

# Runs a command of cargo's with tests/lib/compile as the compiler of what is ours.
with_clippy() {
    local driver
    driver=$(clippy_driver)
    [ -x "$driver" ] || driver=
    BATHYSCOPE_CLIPPY=$driver RUSTC_WORKSPACE_WRAPPER=$PWD/tests/lib/compile "$@"
}

# What is built already is not built again, but cargo says once more what was said of it.
do_lint() {
    [ -x "$(clippy_driver)" ] || { skip lint 'clippy (rustup component add clippy)'; return 77; }
    # shellcheck disable=SC2154 # step() says where the output goes
    with_clippy watched cargo test --locked --workspace --all-targets --no-run && ! grep -q '^warning' "$log"
}

do_docs() {
    BATHYSCOPE_DOCS=$PWD/target/doc RUSTDOC=$PWD/tests/lib/document \
        with_clippy watched cargo test --locked --workspace --doc --no-fail-fast || return
    # The binary without what is built for the tests; tests/tests/tidy/features.rs has the short way.
    [ "$tier" != long ] || watched cargo check --locked -p bathyscope
}

do_scripts() {
    if command -v shellcheck >/dev/null; then
        git ls-files -z | xargs -0 grep -lZE '^#!(/bin/bash|/bin/busybox sh)$|^# shellcheck shell=' | xargs -0 shellcheck -x || return
    else
        skip 'lint of the scripts' shellcheck || true
    fi
    docker/check
    check_silence
}

# The limit on silence ends what is silent and lets go on what talks.
check_silence() {
    local silence_seconds=1 log
    log=$(mktemp)
    # shellcheck disable=SC2016 # expanded by the shell that is watched
    watched bash -c 'for i in 1 2 3 4 5 6 7; do sleep 0.5; echo "$i"; done' >"$log" || { echo 'the limit on silence ended what talks'; return 1; }
    if watched sleep 60 >"$log"; then echo 'the limit on silence ended nothing'; return 1; fi
    grep -q '^hangs: ' "$log" || { echo 'the limit on silence says nothing'; return 1; }
    rm "$log"
}

do_unit() {
    local which=.
    [ "$tier" != quick ] || which=$touched
    run_tests_at_once 2 "$which" '^tests '
}

do_whole() {
    if [ "$tier" = quick ]; then
        # Rules about the sources hold for every change; processes only matter where something of them has changed.
        run_tests '^tests test tidy$' || return
        if has_changed '^Cargo'; then run_tests '^tests test licences$' || return; fi
        if has_changed '^(server/(cli|console|agent|protocol|link|recorder|store)|tests)/'; then
            run_tests '^tests ((lib|bin) |test process$)' || return
        fi
        return
    fi
    run_tests '^tests ((lib|bin) |test (tidy|licences|process)$)' || return
    tests/homes
}

do_web() {
    command -v node >/dev/null || { skip 'the front end'"'"'s modules' nodejs; return 77; }
    watched node --test --test-reporter=tap web/tests/*.test.js || return
    check_types
}

# The front end's types: what its comments say of its own, and web/api.d.ts of the server's answers.
check_types() {
    local checker=tests/browser/node_modules/.bin/tsc
    [ -x "$checker" ] || { skip 'the types of the front end' 'typescript (tests/setup)' || true; return 0; }
    watched "$checker" --project web
}

do_browser() {
    local missing
    missing=$(missing_for 'the browser flows')
    [ -z "$missing" ] || { skip "the browser flow $1" "$missing"; return 77; }
    watched node --test --test-reporter=tap "tests/browser/$1.mjs"
}
do_browser-simulated() { do_browser simulated; }
do_browser-web() { do_browser web; }
do_browser-real() {
    [ "$(id -u)" = 0 ] || { skip 'the browser flow real' root; return 77; }
    # Builds the small programs that are traced, as this step may be the first one that needs them.
    (run_tests '^tests lib ') >"$logs/programs.log" 2>&1 || { cat "$logs/programs.log"; return 1; }
    do_browser real
}

do_attacks() { run_tests '^tests test (attacks|faults|walls|imports|confinement|language)$'; }
# What is timed, or compared in numbers with what another tool measures at the same time, has the processors for itself.
timed=(p24_ p2_the_hottest the_hottest_instruction counts_are_those intervals_sum samples_of_an_event)
do_costs() { run_tests '^tests test (originals|targets)$' '' "${timed[@]}"; }
do_kernel() {
    local name rest=()
    for name in "${timed[@]}"; do rest+=(--skip "$name"); done
    run_tests '^tests test ' ' (tidy|licences|process|attacks|faults|walls|imports|confinement|language)$' "${rest[@]}"
}

do_lab() {
    local missing silence_seconds=$silence_seconds
    # No test there is silent for four minutes, also beside other work; an emulated machine that hangs costs less so.
    [ "$tier" = long ] || silence_seconds=480
    missing=$(missing_for "the kernel lab\( on $1\)\?")
    [ "$(id -u)" = 0 ] || missing=root
    [ -z "$missing" ] || { skip "the kernel tests on $1" "$missing"; return 77; }
    watched tests/lab/run "$1"
}
do_lab-6.1() { do_lab 6.1; }
do_lab-6.12() { do_lab 6.12; }

# Each target for its time, two at once: what takes requests, and what compiles, which gets most of it.
do_fuzz() {
    local status=0 seconds=${BATHYSCOPE_FUZZ_SECONDS:-450} requests
    local short=$((seconds / 10)) silence_seconds=$((3 * seconds + 300))
    {
        fuzz "$seconds" agent_bytes agent_requests login import &&
            fuzz "$short" perf_records call_records state_records probe_records trace_pages host_texts sysdig event_formats
    } &
    requests=$!
    fuzz "$seconds" script || status=1
    BATHYSCOPE_FUZZ_SECONDS=$((3 * seconds)) run_tests '^bpf test mutations$' || status=1
    fuzz "$short" script_records probe_lines filters sql elf dwarf || status=1
    wait "$requests" || status=1
    return "$status"
}

# Fuzzes each target in turn for `$1` seconds, in the debug build, whose overflows and assertions are checked.
fuzz() {
    local seconds=$1 target status=0 folder
    shift
    folder=$(awk -F'\t' '$1 == "server/agent" && $2 == "test" { sub("/deps/[^/]*$", "", $4); print $4; exit }' "$BATHYSCOPE_TESTS_BUILT")
    for target in "$@"; do
        (cd target && watched "$folder/bathyscope-fuzz" "$target" "$seconds") || status=1
    done
    return "$status"
}

# Adds up what the test runners in log `$1` say of themselves; prints `PASSED FAILED`.
count() {
    awk '
        /^test result: / { for (i = 2; i <= NF; i++) { if ($i == "passed;") p += $(i-1); if ($i == "failed;") f += $(i-1) } }
        /^# pass [0-9]+$/ { p += $3 }
        /^# fail [0-9]+$/ { f += $3 }
        END { print p + 0, f + 0 }' "$1"
}

# What the test runners say of failed tests in log `$1`: the sections of cargo's, and the blocks of TAP.
failures() {
    awk '
        /^failures:$/ { rust = 1 }
        /^not ok / { tap = 1 }
        rust || tap { print }
        /^test result: / { rust = 0 }
        /^  \.\.\.$/ { tap = 0 }' "$1" | cut -c 1-1000
}

# The failed tests of log `$1`, a line each: name, and what a test of node's says first of it.
failed_tests() {
    failed_built_tests "$1" | cut -f 2 | sed 's/^/  /'
    awk '
        /^not ok / { sub("^not ok [0-9]+ - ", ""); name = $0 }
        name != "" && /^  error: / { sub("^  error: ", ""); text = $0; if (text ~ /^\|-?$/) { getline; text = $0 } print "  " name ": " text; name = "" }
        /^  \.\.\.$/ { if (name != "") print "  " name; name = "" }' "$1" | cut -c 1-300
}

# What is shown of log `$1` when its step fails: its failed tests, and its end.
show_failure() {
    failures "$1" | head -n 200
    echo ...
    tail -n 30 "$1"
}

# Seconds of CPU time of a shell's children, of what `times` wrote into file `$1`.
cpu_of() {
    awk -F'[ms ]' 'NR == 2 { printf "%d", $1 * 60 + $2 + $4 * 60 + $5 }' "$1"
}

# Runs a step and says how it went: a line, what failed, and for the sum a file `STEP.result`.
step() {
    local name=$1 log=$logs/$1.log start=$SECONDS status=0 good bad skips verdict=ok cpu_before cpu
    # Not in a pipe: a subshell has times of its own.
    times >"$logs/$name.times"
    cpu_before=$(cpu_of "$logs/$name.times")
    "do_$name" >"$log" 2>&1 </dev/null || status=$?
    times >"$logs/$name.times"
    cpu=$(($(cpu_of "$logs/$name.times") - cpu_before))
    read -r good bad < <(count "$log")
    skips=$(grep -c '^SKIPPED: ' "$log")
    grep '^SKIPPED: ' "$log" >"$logs/$name.skipped"
    # A step without a test runner is one test; a test of cargo's that skips itself has been counted as passed.
    if [ "$status" = 77 ]; then
        status=0
    elif [ $((good + bad)) = 0 ]; then
        if [ "$status" = 0 ]; then good=1; else bad=1; fi
    elif grep -q '^test result: ' "$log"; then
        good=$((good > skips ? good - skips : 0))
    fi
    if [ "$status" != 0 ]; then
        verdict=FAILED
        [ "$bad" != 0 ] || bad=1
    fi
    echo "$verdict $good $bad $skips $name" >"$logs/$name.result"
    {
        printf '%-18s %-6s %4d s, %4d s of CPU time   %d passed, %d failed, %d skipped\n' "$name" "$verdict" \
            $((SECONDS - start)) "$cpu" "$good" "$bad" "$skips"
        if [ "$name" = setup ]; then sed 's/^/    /' "$log"; fi
        if [ "$status" != 0 ]; then show_failure "$log" | sed 's/^/    /'; fi
    } >"$logs/$name.said"
    cat "$logs/$name.said"
}
