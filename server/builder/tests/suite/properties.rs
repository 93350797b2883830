//! What holds for any form and any text.

use bathyscope_builder::{
    AggregateFunction, FormAction, Pairing, ProbeForm, RecordedValue, ValueFormat, default_name, read, write,
};
use bathyscope_catalog::syscalls::NameSet;
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::tables::compiles;

/// Values that a tracepoint of scheduling has, with the formats that fit.
fn value() -> impl Strategy<Value = RecordedValue> {
    use ValueFormat::{Decimal, Hex, KernelSymbol, Octal, Plain, SignalName, Text, UserSymbol};
    let known = [
        ("pid", Plain),
        ("comm", Plain),
        ("args.prev_comm", Plain),
        ("args.prev_pid", Hex),
        ("args.prev_state", Octal),
        ("args.prev_prio + 1", Decimal),
        ("args.next_prio", Plain),
        ("(uint64)curtask", KernelSymbol),
        ("args.next_pid", SignalName),
        ("(uint64)args.next_pid", UserSymbol),
        ("curtask->comm", Plain),
        ("curtask->real_parent->tgid", Decimal),
        ("(uint8 *)args.prev_pid", Text),
        ("(uint8 *)1", ValueFormat::Bytes(16)),
        ("args.prev_prio & 7", ValueFormat::Names(NameSet::find("open").unwrap())),
    ];
    (select(known.to_vec()), any::<bool>()).prop_map(|((expr, format), late)| RecordedValue {
        expr: expr.to_owned(),
        name: String::new(),
        format,
        late,
    })
}

fn condition() -> impl Strategy<Value = String> {
    let known = ["", "pid == 1", "comm == \"a/b\\\"c\" || args.next_prio < 0x10", "args.next_pid / 2 > 3 && cpu == 0"];
    select(known.to_vec()).prop_map(str::to_owned)
}

fn action() -> impl Strategy<Value = FormAction> {
    let map = || select(vec!["", "hits", "x_1"]).prop_map(str::to_owned);
    prop_oneof![
        3 => Just(FormAction::Record),
        2 => (map(), select(AggregateFunction::ALL.to_vec())).prop_map(|(map, function)| FormAction::Aggregate {
            map,
            function,
            of: "args.next_prio".to_owned(),
        }),
        1 => (map(), 0..10_u32, 1..9_u32).prop_map(|(map, min, step)| FormAction::LinearHistogram {
            map,
            of: "args.next_prio".to_owned(),
            min,
            max: min + 8 * step,
            step,
        }),
    ]
}

fn forms() -> impl Strategy<Value = ProbeForm> {
    let until = (condition(), vec(value(), 0..3), any::<bool>(), any::<bool>()).prop_map(
        |(condition, values, duration, two)| Pairing {
            sites: vec!["tracepoint:sched:sched_switch".to_owned()],
            key: if two { vec!["args.next_pid".to_owned(), "cpu".to_owned()] } else { vec!["tid".to_owned()] },
            end_key: if two { vec!["args.prev_pid".to_owned(), "cpu".to_owned()] } else { vec!["tid".to_owned()] },
            condition,
            values,
            duration,
            ..Pairing::default()
        },
    );
    let comment = select(vec!["", "one line", "two\nlines: \"a\" { }"]);
    (comment, condition(), vec(value(), 0..4), option::of(until), any::<[bool; 2]>(), action()).prop_map(
        |(comment, condition, values, until, [kernel_stack, user_stack], action)| ProbeForm {
            comment: comment.to_owned(),
            sites: vec!["tracepoint:sched:sched_switch".to_owned()],
            condition,
            values,
            until,
            kernel_stack,
            user_stack,
            action,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_form_reads_back_from_its_script_which_compiles(form in forms()) {
        let script = write(std::slice::from_ref(&form)).unwrap();
        let reading = read(&script).unwrap();
        prop_assert_eq!(&reading.forms, &vec![form.normal()], "{}", script);
        prop_assert!(reading.left_out.is_empty());
        let compiled = compiles(&script);
        prop_assert!(compiled.is_ok(), "{}", compiled.unwrap_err());
    }

    #[test]
    fn a_format_of_ones_own_is_kept(text in "[ -~\n\t]{0,20}") {
        let format = text.replace('%', "%%") + "%s";
        let form = ProbeForm {
            sites: vec!["begin".to_owned()],
            values: vec![RecordedValue { expr: "pid".to_owned(), ..RecordedValue::default() }],
            action: FormAction::Print { format: format.clone() },
            ..ProbeForm::default()
        };
        // What a row would be written as is one.
        if !format.ends_with("=%s\n") {
            let reading = read(&write(&[form]).unwrap()).unwrap();
            prop_assert_eq!(&reading.forms[0].action, &FormAction::Print { format });
        }
    }

    #[test]
    fn any_text_is_read_or_refused_within_it(text in "[a-z@$\\[\\](){};:/,.=*%\"#! \n0-9-]{0,60}") {
        let said = read(&text).map_or_else(|said| said, |reading| reading.left_out);
        for it in said {
            prop_assert!(text.get(it.start as usize..it.end as usize).is_some());
        }
        let _any = default_name(&text);
    }

    #[test]
    fn any_texts_in_a_form_are_written_or_refused(texts in vec("[a-z@$\\[\\](){};:/,.=*%\"#! \n0-9-]{0,20}", 4)) {
        let form = ProbeForm {
            comment: texts[0].clone(),
            sites: vec!["begin".to_owned(), texts[1].clone()],
            condition: texts[2].clone(),
            values: vec![RecordedValue { expr: texts[3].clone(), ..RecordedValue::default() }],
            ..ProbeForm::default()
        };
        if let Ok(script) = write(std::slice::from_ref(&form)) {
            prop_assert_eq!(read(&script).unwrap().forms, vec![form.normal()]);
        }
    }

    #[test]
    fn several_forms_read_back_from_their_script(forms in vec(forms(), 1..5)) {
        let mut forms = forms;
        for (number, form) in forms.iter_mut().enumerate() {
            form.until.iter_mut().for_each(|until| until.started = format!("began_{number}"));
        }
        let script = write(&forms).unwrap();
        let reading = read(&script).unwrap();
        prop_assert!(reading.left_out.is_empty());
        prop_assert_eq!(reading.forms.len(), forms.len());
        // What is read is written so again.
        prop_assert_eq!(write(&reading.forms).unwrap(), script);
        for (read, form) in reading.forms.iter().zip(&forms) {
            let form = form.clone().normal();
            prop_assert_eq!((&read.sites, &read.action, &read.comment), (&form.sites, &form.action, &form.comment));
        }
    }
}
