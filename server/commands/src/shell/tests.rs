use super::*;

fn lines(text: &str) -> Lines {
    read(text, &|word| matches!(word, "perf" | "echo" | "cat" | "strace")).unwrap_or_else(|error| panic!("{error}"))
}

fn words(text: &str) -> Vec<Vec<String>> {
    let of = |pipeline: &Pipeline| {
        let words = |command: &Simple| command.words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
        pipeline.commands.iter().map(words).collect::<Vec<_>>().join(&"|".to_owned())
    };
    lines(text).pipelines.iter().map(of).collect()
}

#[test]
fn lines_become_commands() {
    let cases: [(&str, &[&str]); 9] = [
        ("strace -f ls", &["strace -f ls"]),
        ("perf record -a -- sleep 1; perf script | head", &["perf record -a -- sleep 1", "perf script | head"]),
        ("a && b & c", &["a", "b", "c"]),
        ("a 'b c' \"d $\" e\\ f", &["a b c d $ e f"]),
        ("a \\\n  b\nc", &["a b", "c"]),
        ("a # b\n# c\nd", &["a", "d"]),
        ("$ perf list\noutput of it\n$ perf stat ls", &["perf list", "perf stat ls"]),
        ("a |\n b", &["a | b"]),
        ("a > f 2>&1 < g", &["a"]),
    ];
    for (text, expected) in cases {
        let found: Vec<String> = words(text).iter().map(|words| words.join(" ")).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn here_documents_are_texts() {
    let text = "perf - <<'EOF' | cat\nbegin { @a[$1] }\nend\nEOF\necho x";
    let read = lines(text);
    let document = &read.pipelines[0].commands[0].redirects[0];
    assert_eq!((document.kind.clone(), document.word.text.as_str()), (RedirectKind::Text, "begin { @a[$1] }\nend\n"));
    assert!(document.word.expansions.is_empty());
    assert_eq!(read.pipelines[0].commands[1].words[0].text, "cat");
    assert_eq!(read.pipelines[1].commands[0].words[1].text, "x");
    let open = lines("cat << EOF\n$HOME\nEOF");
    assert_eq!(open.pipelines[0].commands[0].redirects[0].word.expansions.len(), 1);
}

#[test]
fn what_a_shell_expands_is_noted_at_its_place() {
    let cases = [
        ("a $HOME", 2..7),
        ("a \"x$(pidof b)\"", 4..14),
        ("a `pidof b`", 2..11),
        ("a *.c", 2..3),
        ("a {b,c}", 2..3),
        ("a ~/x", 2..3),
        ("a $((1+2))", 2..10),
        ("a <(b)", 2..6),
    ];
    for (text, place) in cases {
        let error = lines(text).pipelines[0].commands[0].words[1].plain().map(str::to_owned).unwrap_err();
        assert_eq!(error.at, place, "{text}");
    }
    for text in ["a '$HOME *'", "a \\$HOME", "a \"\\$x*\"", "a {b}", "a b~", "a $"] {
        assert!(lines(text).pipelines[0].commands[0].words[1].plain().is_ok(), "{text}");
    }
}

#[test]
fn what_is_for_a_shell_alone_is_refused() {
    for text in ["for x in a", "(a)", "a || b", "'x", "\"x", "`x", "a $(b", "| a", "a >", "cat <<E\nx", "{ a; }"] {
        assert!(read(text, &|_word| false).is_err(), "{text}");
    }
}

#[test]
fn parts_of_words_know_their_places() {
    let read = lines("a --pid='12,34'");
    let word = &read.pipelines[0].commands[0].words[1];
    let value = word.from("--pid=".len());
    assert_eq!((value.text.as_str(), value.source.clone()), ("12,34", 9..15));
    let parts: Vec<_> = value.split(',').into_iter().map(|part| (part.text.clone(), part.source)).collect();
    assert_eq!(parts, [("12".to_owned(), 9..11), ("34".to_owned(), 12..15)]);
}
