# shellcheck shell=bash
# shellcheck disable=SC2034 # tests/lib/steps.sh reads $touched
# What a change touches, for `tests/run quick`: the files that differ from the upstream branch, or where there is none or
# nothing differs, from the commit before the last; with what is not committed yet.

change_base() {
    local upstream
    upstream=$(git merge-base HEAD '@{upstream}' 2>/dev/null) || upstream=
    if [ -z "$upstream" ] || { [ "$upstream" = "$(git rev-parse HEAD)" ] && [ -z "$(git status --porcelain)" ]; }; then
        git rev-parse --verify --quiet HEAD~1 || git hash-object -t tree /dev/null
    else
        echo "$upstream"
    fi
}

changed_files() {
    git diff --name-only --no-renames "$(change_base)"
    git ls-files --others --exclude-standard
}

# Reads the change once: `touched` is a regular expression of the folders of packages whose tests it touches.
read_change() {
    changed=$(changed_files)
    local folder folders=()
    for folder in server/{cli,console,recorder,reader,link,agent,protocol,formats,views,query,store,decode,symbols,catalog,plan,capture} bpf web tests; do
        if has_changed "^$folder/"; then folders+=("$folder"); fi
    done
    if has_changed '^migrations/'; then folders+=(server/store); fi
    # What all are built with.
    if has_changed '^(Cargo\.(toml|lock)|clippy\.toml|rustfmt\.toml)$'; then folders=('.*'); fi
    local IFS='|'
    touched="^(${folders[*]}) "
}

has_changed() { grep -qE "$1" <<<"$changed"; }
builds() { has_changed '\.(rs|toml|lock|sql|bt|html|js|css|bathy)$|^bpf/|^server/.*/data/'; }

# Whether step `$1` belongs to a quick run after this change.
is_quick() {
    case $1 in
        format) has_changed '\.rs$|^web/' ;;
        build | lint | unit) builds ;;
        whole) true ;;
        scripts) has_changed '^docker/|\.sh$|^tests/(run|setup|homes|lab/|samples/record)|^\.ci/' ;;
        web) has_changed '^web/' ;;
        *) false ;;
    esac
}

say_change() {
    printf '%s files differ from %s\n' "$(grep -c . <<<"$changed")" "$(git log -1 --format='%h %s' "$(change_base)" 2>/dev/null)"
}
