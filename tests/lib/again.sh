# shellcheck shell=bash
# shellcheck disable=SC2154 # $logs is of tests/run
# What failed while other lanes took the processors' time is run once more, by itself, when everything else has ended. What passes
# then is told as `AGAIN:` lines: it is to be mended, and it is no reason to doubt a change. What fails again has failed.

# More failed tests than this are no matter of time.
MOST_AGAIN=5

# The failed tests of log `$1`, a line each: `FOLDER KIND NAME` (empty in a lab), a tab, and the name of the test. Each program of
# tests lists them at its end: what a test prints may stand between its name and what became of it.
failed_built_tests() {
    awk '
        /^== [^ ]+: [^ ]+ [^ ]+$/ { target = $2 " " $3 " " $4; sub(":", "", target) }
        /^failures:$/ { n = 0; listed = 1; next }
        listed && /^    [^ ]+$/ { names[n++] = target "\t" $1 }
        /^test result: / { if (/FAILED/) for (i = 0; i < n; i++) print names[i]; n = listed = 0 }' "$1"
}

# Runs once more what failed of step `$1`, which needs nothing else of that step. Status 2: it cannot be told what failed.
run_again() {
    local name=$1 failed=$2 target test status=0 names=()
    case $name in
        whole | browser-*) "do_$name" || return 1 ;;
        unit | attacks | kernel | costs)
            [ "$(failed_built_tests "$logs/$name.log" | wc -l)" = "$failed" ] || return 2
            while IFS=$'\t' read -r target test; do
                run_tests "^$target\$" '' --exact "$test" || status=1
            done < <(failed_built_tests "$logs/$name.log")
            return "$status"
            ;;
        lab-*)
            mapfile -t names < <(failed_built_tests "$logs/$name.log" | cut -f 2)
            # None: the emulated machine itself has ended. All of it is run again.
            [ "${#names[@]}" = "$failed" ] || [ "${#names[@]}" = 0 ] || return 2
            watched tests/lab/run "${name#lab-}" "${names[@]}"
            ;;
        *) return 2 ;;
    esac
}

# Tries step `$1` again if few of its tests failed, and says what came of it.
try_again() {
    local name=$1 verdict good bad skips _name status=0 failed
    read -r verdict good bad skips _name <"$logs/$name.result" || return 0
    [ "$verdict" = FAILED ] && [ "$bad" -le "$MOST_AGAIN" ] || return 0
    run_again "$name" "$bad" >"$logs/$name.again.log" 2>&1 </dev/null || status=$?
    case $status in
        0)
            failed=$(failed_tests "$logs/$name.log")
            echo "${failed:-the whole step, which ended before its tests did}" | sed "s/^ */AGAIN: $name: /; s/\$/ — failed beside other work, passed by itself/" >"$logs/$name.again"
            echo "ok $((good + bad)) 0 $skips $name" >"$logs/$name.result"
            cat "$logs/$name.again"
            ;;
        2) echo "$name: what failed of it cannot be told, so it is not run again" ;;
        *)
            echo "$name: it fails by itself, too"
            show_failure "$logs/$name.again.log" | sed 's/^/    /'
            ;;
    esac
}
