# shellcheck shell=bash
# shellcheck disable=SC2154 # $logs is of tests/run
# What failed while other lanes took the processors' time is run once more, by itself, when everything else has ended. What passes
# then is told as `AGAIN:` lines: it is to be mended, and it is no reason to doubt a change. What fails again has failed.

# More failed tests than this are no matter of time.
MOST_AGAIN=5

# The failed tests of log `$1`, a line each: `FOLDER KIND NAME`, a tab, and the name of the test.
failed_built_tests() {
    awk '
        /^== [^ ]+: [^ ]+ [^ ]+$/ { target = $2 " " $3 " " $4; sub(":", "", target) }
        /^test [^ ]+ \.\.\. FAILED$/ { print target "\t" $2 }' "$1"
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
            mapfile -t names < <(awk '/^test [^ ]+ \.\.\. FAILED$/ { print $2 }' "$logs/$name.log")
            [ "${#names[@]}" = "$failed" ] || return 2
            watched tests/lab/run "${name#lab-}" "${names[@]}"
            ;;
        *) return 2 ;;
    esac
}

# Tries step `$1` again if few of its tests failed, and says what came of it.
try_again() {
    local name=$1 verdict good bad skips _name status=0
    read -r verdict good bad skips _name <"$logs/$name.result" || return 0
    [ "$verdict" = FAILED ] && [ "$bad" -le "$MOST_AGAIN" ] || return 0
    run_again "$name" "$bad" >"$logs/$name.again.log" 2>&1 </dev/null || status=$?
    case $status in
        0)
            failed_tests "$logs/$name.log" | sed "s/^ */AGAIN: $name: /; s/\$/ — failed beside other work, passed by itself/" >"$logs/$name.again"
            echo "ok $((good + bad)) 0 $skips $name" >"$logs/$name.result"
            cat "$logs/$name.again"
            ;;
        1)
            echo "$name: it fails by itself, too"
            failures "$logs/$name.again.log" | head -n 100 | sed 's/^/    /'
            ;;
    esac
}
