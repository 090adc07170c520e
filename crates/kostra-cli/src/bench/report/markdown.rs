//! report.md: the same tables, and the numbers of the plots.

use std::fmt::Write;

use super::chart::chart;
use super::summary::summary;
use super::table::{Table, table};
use super::{GENERATED, about, all_graphs, all_results};
use crate::bench::results::Results;
use crate::bench::suite::Suite;

/// The report.
pub(in crate::bench) fn markdown(suite: &Suite, results: &Results) -> String {
    let mut text = format!("# {}\n\n{}\n\n", cell(&results.suite.name), cell(&results.suite.description));
    if !results.complete {
        let _ = writeln!(text, "**Partial**: {} of {} graphs.\n", results.graphs.len(), suite.subjects.len());
    }
    let (sentence, standings) = summary(results);
    let _ = write!(text, "## Summary\n\n{}\n\n{}", sentence.unwrap_or_default(), of_table(&standings));
    for figure in &suite.figures {
        let chart = chart(figure, suite, results);
        let table = table(figure, &chart, suite, results);
        let _ = write!(text, "\n## {}\n\n", cell(&figure.title));
        text += &if table.rows.is_empty() { "No results.\n".to_owned() } else { of_table(&table) };
        if let Some(note) = &figure.note {
            let _ = write!(text, "\n{}\n", cell(note));
        }
    }
    let _ = write!(text, "\n## Graphs\n\n{}", of_table(&all_graphs(results)));
    let _ = write!(text, "\n## All results\n\n{}", of_table(&all_results(results)));
    text += "\n## Machine\n\n";
    for (name, value) in about(results) {
        let _ = writeln!(text, "- {name}: {}", cell(&value));
    }
    for note in &results.notes {
        let _ = writeln!(text, "- {}", cell(note));
    }
    text
}

fn of_table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = (0..table.headings.len()).map(|i| if i < table.names { "---" } else { "---:" }.to_owned());
    let mut text = table.unit.as_ref().map_or(String::new(), |unit| format!("{}:\n\n", cell(unit)));
    text += &(line(table.headings.iter().map(|heading| cell(heading)).collect()) + &line(rule.collect()));
    for row in &table.rows {
        let bold = |text: String, best| if best { format!("**{text}**") } else { text };
        text += &line(row.iter().map(|found| bold(cell(&found.text), found.best)).collect());
    }
    if table.marked {
        let _ = write!(text, "\n\\{GENERATED}\n");
    }
    text
}

/// Text that is neither markup nor the end of a cell.
fn cell(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '<' | '>' | '`' | '[' | ']' | '\\' | '&' => shown.extend(['\\', c]),
            c if c.is_control() => shown.push(' '),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cannot_break_a_table() {
        assert_eq!(cell("a|b\n<i>*c*"), "a\\|b \\<i\\>\\*c\\*");
    }
}
