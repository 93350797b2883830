//! Whether a query only adds up the rows of one table, as the program says that SQLite makes of it (`explain`).
//!
//! Such a program has one loop over one virtual table. In it columns go to aggregates and nowhere else, except those that are
//! grouped by, which keep their values. Behind it only the results of aggregates are used. Every instruction that is not known
//! here, and every use of a column elsewhere, makes a query one that runs row by row: then nothing but time is lost.
//! Instructions: <https://sqlite.org/opcode.html>.

use std::collections::HashSet;

use rusqlite::{Connection, Result, Row};

use super::SUMS;
use crate::plan::{Order, Plan};

/// One instruction.
#[derive(Clone, Debug)]
struct Instruction {
    opcode: String,
    p1: i64,
    p2: i64,
    p3: i64,
    p4: String,
    p5: i64,
}

impl Instruction {
    fn read(row: &Row<'_>) -> Result<Self> {
        let p4: Option<String> = row.get(5)?;
        let (opcode, p1, p2, p3, p5) = (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(6)?);
        Ok(Self { opcode, p1, p2, p3, p4: p4.unwrap_or_default(), p5 })
    }

    /// The registers that it reads, as ranges of a first one and how many; none if it is not known here.
    fn reads(&self) -> Option<Vec<(i64, i64)>> {
        let Self { p1, p2, p3, p4, .. } = self;
        let several = || p4.parse().unwrap_or(1_i64);
        Some(match self.opcode.as_str() {
            "Init" | "VOpen" | "Close" | "Halt" | "Transaction" | "Goto" | "Integer" | "Int64" | "Real" | "String8"
            | "String" | "Null" | "Gosub" | "OpenEphemeral" | "SorterOpen" | "OpenPseudo" | "Sort" | "SorterSort"
            | "SorterData" | "SorterNext" | "Next" | "Column" | "Sequence" | "Last" | "Delete" | "CollSeq" | "Jump"
            | "Noop" | "Explain" | "VNext" => vec![],
            "VFilter" => vec![(*p3, 2)],
            "AggFinal" | "SCopy" | "If" | "IfNot" | "IfPos" | "IfNotZero" | "DecrJumpZero" | "Return" | "Cast"
            | "RealAffinity" | "IsNull" | "NotNull" | "MustBeInt" => vec![(*p1, 1)],
            "OffsetLimit" => vec![(*p1, 1), (*p3, 1)],
            "Copy" => vec![(*p1, p3 + 1)],
            "Move" => vec![(*p1, *p3)],
            "Compare" => vec![(*p1, *p3), (*p2, *p3)],
            "ResultRow" | "MakeRecord" | "Affinity" => vec![(*p1, *p2)],
            "Add" | "Subtract" | "Multiply" | "Divide" | "Remainder" | "Concat" | "BitAnd" | "BitOr" => {
                vec![(*p1, 1), (*p2, 1)]
            }
            "Eq" | "Ne" | "Lt" | "Le" | "Gt" | "Ge" => vec![(*p1, 1), (*p3, 1)],
            "Function" | "PureFunc" => vec![(*p2, arguments(p4)?)],
            "IdxInsert" => vec![(*p2, 1), (*p3, several())],
            "SorterInsert" => vec![(*p2, 1)],
            "IdxLE" | "IdxLT" | "IdxGE" | "IdxGT" => vec![(*p3, several())],
            _ => return None,
        })
    }

    /// The registers that it writes, where that is one or a range for certain.
    fn writes(&self) -> (i64, i64) {
        let Self { p1, p2, p3, .. } = self;
        match self.opcode.as_str() {
            "Integer" | "Int64" | "Real" | "String8" | "String" | "Sequence" | "SCopy" | "SorterData" => (*p2, 1),
            "Null" => (*p2, (p3 - p2).max(0) + 1),
            "Copy" => (*p2, p3 + 1),
            "Move" => (*p2, *p3),
            "Column" | "MakeRecord" | "Add" | "Subtract" | "Multiply" | "Divide" | "Remainder" | "Concat"
            | "BitAnd" | "BitOr" | "Function" | "PureFunc" => (*p3, 1),
            "AggFinal" => (*p1, 1),
            _ => (0, 0),
        }
    }
}

/// How many arguments a function has, which `explain` writes as `name(2)`.
fn arguments(p4: &str) -> Option<i64> {
    p4.strip_suffix(')')?.rsplit_once('(')?.1.parse().ok()
}

/// Registers whose values are numbers of columns.
#[derive(Default)]
struct Columns(HashSet<i64>);

impl Columns {
    fn has_any(&self, (first, count): (i64, i64)) -> bool {
        self.0.iter().any(|register| (first..first + count).contains(register))
    }

    fn remove(&mut self, (first, count): (i64, i64)) {
        self.0.retain(|register| !(first..first + count).contains(register));
    }
}

/// Whether a query only adds up the rows of one table.
///
/// # Errors
/// If the query is wrong.
pub(crate) fn is_summed(connection: &Connection, sql: &str) -> Result<bool> {
    let mut statement = connection.prepare(&format!("explain {sql}"))?;
    let program = statement.query_map([], Instruction::read)?.collect::<Result<Vec<_>>>()?;
    Ok(sums(&program).unwrap_or(false))
}

/// None where an instruction is not known.
fn sums(program: &[Instruction]) -> Option<bool> {
    let place = |opcode: &str| {
        let mut all = program.iter().zip(0_usize..).filter(|(it, _)| it.opcode == opcode);
        let first = all.next()?;
        all.next().is_none().then_some(first)
    };
    let ((_, opened), (filter, begin), (next, end)) = (place("VOpen")?, place("VFilter")?, place("VNext")?);
    let is_loop = opened < begin && begin < end && usize::try_from(next.p2) == Ok(begin + 1);
    let keys: Vec<i64> = match Plan::parse(&filter.p4)?.order {
        Order::Grouped(keys) => keys.iter().filter_map(|key| i64::try_from(key.column).ok()).collect(),
        Order::Distinct(_) => return Some(false),
        Order::Stored | Order::Backwards => Vec::new(),
    };
    let mut columns = Columns::default();
    let mut all = Columns::default();
    let mut summed = 0;
    for it in program.get(begin + 1..end)? {
        match it.opcode.as_str() {
            "VColumn" if keys.contains(&it.p2) => columns.remove((it.p3, 1)),
            "VColumn" => {
                columns.0.insert(it.p3);
                all.0.insert(it.p3);
            }
            "AggStep" => {
                let known = SUMS.iter().any(|(name, _)| it.p4.strip_prefix(name).is_some_and(|it| it.starts_with('(')));
                let all_columns = (it.p2..it.p2 + it.p5).all(|register| columns.0.contains(&register));
                if !known || !all_columns || it.p1 != 0 {
                    return Some(false);
                }
                summed += 1;
            }
            _ if it.reads()?.into_iter().any(|read| columns.has_any(read)) => return Some(false),
            _ => columns.remove(it.writes()),
        }
    }
    // Subroutines stand behind the loop too. They run straight on, so what they write first is theirs.
    let before = program.get(..=begin)?.iter();
    for it in program.get(end + 1..)?.iter().chain(before) {
        if it.reads()?.into_iter().any(|read| all.has_any(read)) {
            return Some(false);
        }
        all.remove(it.writes());
    }
    Some(is_loop && summed > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn program(lines: &str) -> Vec<Instruction> {
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let opcode = words.next().unwrap().to_owned();
            let mut number = || words.next().map_or(0, |word| word.parse().unwrap());
            let (p1, p2, p3, p5) = (number(), number(), number(), number());
            let p4 = words.collect::<Vec<_>>().join(" ");
            Instruction { opcode, p1, p2, p3, p4, p5 }
        };
        lines.split('\n').map(str::trim).filter(|text| !text.is_empty()).map(line).collect()
    }

    /// `select count(*), sum(c1)` with something in and behind the loop.
    fn is_sum(within: &str, behind: &str) -> Option<bool> {
        let lines = format!(
            "Init 0 1\nVOpen 0\nInteger 0 4\nInteger 0 5\nVFilter 0 9 4 0 columns 2\nVColumn 0 1 9\n\
             AggStep 0 9 2 1 sum(1)\n{within}\nVNext 0 5\nAggFinal 2 1\n{behind}\nResultRow 2 1\nHalt"
        );
        sums(&program(&lines))
    }

    #[test]
    fn columns_go_to_aggregates_and_nowhere_else() {
        let cases = [
            ("", "", Some(true)),
            ("AggStep 0 0 1 0 count(0)", "AggFinal 1 0", Some(true)),
            // The register is written before it is read.
            ("", "Divide 12 2 9\nAdd 13 9 10", Some(true)),
            ("", "Add 13 9 10", Some(false)),
            ("", "Copy 8 2 2", Some(false)),
            ("", "ResultRow 7 3", Some(false)),
            ("Gt 3 8 9", "", Some(false)),
            ("AggStep 0 9 3 1 percentile(2)", "", Some(false)),
            ("AggStep 0 8 3 1 sum(1)", "", Some(false)),
            ("AggStep 1 9 3 1 sum(1)", "", Some(false)),
            ("Integer 1 9\nAggStep 0 9 3 1 sum(1)", "", Some(false)),
            ("Once 0 4", "", None),
            ("", "Yield 3", None),
            ("", "VNext 1 2", None),
            ("", "Function 0 9 3 0 abs(1)", Some(false)),
            ("", "Function 0 2 3 0 abs(1)", Some(true)),
        ];
        for (within, behind, expected) in cases {
            assert_eq!(is_sum(within, behind), expected, "{within} | {behind}");
        }
        assert_eq!(sums(&program("Init 0 1\nHalt")), None);
    }
}
