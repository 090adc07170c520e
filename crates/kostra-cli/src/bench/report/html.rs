//! report.html: one file that needs no other, light and dark, well-formed as XML.

use std::fmt::Write;

use super::chart::{Chart, chart};
use super::summary::summary;
use super::svg::{COLOURS, is_wide, mark, plot};
use super::table::{Table, table};
use super::{GENERATED, about, all_graphs, all_results, csv, named};
use crate::bench::results::Results;
use crate::bench::suite::{Figure, Kind, Suite};
use crate::human;

/// Notes longer than this are folded.
const LONG: usize = 160;

/// The report.
pub(in crate::bench) fn html(suite: &Suite, results: &Results) -> String {
    let title = escape(&results.suite.name);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{title}: kostra bench</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n",
        include_str!("style.css")
    );
    header(&mut page, suite, results);
    let (sentence, standings) = summary(results);
    let _ = write!(page, "<h2 id=\"summary\">Summary</h2>\n<section class=\"card\">\n");
    if let Some(sentence) = sentence {
        let _ = writeln!(page, "<p>{}</p>", escape(&sentence));
    }
    page += &of_table(&standings);
    let speedup =
        results.baseline.as_ref().map_or(String::new(), |baseline| format!(" Speedup over {}.", named(baseline)));
    let _ = writeln!(
        page,
        "<p class=\"note\">Geometric means over the graphs that a contender ran on.{} Contenders with options are in the \
         figures and in all results.</p>\n</section>",
        escape(&speedup)
    );
    if !suite.figures.is_empty() {
        page += "<h2 id=\"figures\">Tables and figures</h2>\n<div class=\"grid2\">\n";
        let mut empty = Vec::new();
        for figure in &suite.figures {
            match of_figure(figure, suite, results) {
                Some(text) => page += &text,
                None => empty.push(escape(&figure.title)),
            }
        }
        page += "</div>\n";
        if !empty.is_empty() {
            let titles = empty.join("; ");
            let _ = writeln!(page, "<p class=\"note\">Left out, as nobody whom they show ran here: {titles}.</p>");
        }
    }
    details(&mut page, results);
    page + "</body>\n</html>\n"
}

fn header(page: &mut String, suite: &Suite, results: &Results) {
    let _ = writeln!(page, "<h1>{}</h1>", escape(&results.suite.name));
    let _ = writeln!(page, "<p class=\"lead\">{}</p>", escape(&results.suite.description));
    let runs = results.graphs.iter().flat_map(|graph| &graph.results).map(|row| row.seconds.len()).sum();
    let _ = writeln!(
        page,
        "<p class=\"facts\">{} · {} · kostra {} · {}</p>",
        escape(&human::counted(results.graphs.len(), "graph", "graphs")),
        escape(&human::counted(runs, "timed run", "timed runs")),
        escape(&results.kostra),
        escape(&results.machine.to_string()),
    );
    if !results.complete {
        let (done, all) = (results.graphs.len(), suite.subjects.len());
        let _ = writeln!(
            page,
            "<p class=\"partial\"><b>Partial.</b> The run ended after {done} of {all} graphs; \
                                the same command with --resume goes on.</p>"
        );
    }
    for note in &results.notes {
        let note = escape(note);
        // Lists of graphs may be long: their beginning says what it is.
        let _ = match note.split_once(": ").filter(|_| note.len() > LONG) {
            Some((what, list)) => {
                writeln!(page, "<details><summary>{what} …</summary><p class=\"facts\">{list}</p></details>")
            }
            None => writeln!(page, "<p class=\"facts\">{note}</p>"),
        };
    }
    page.push_str("<nav><a href=\"#summary\">Summary</a>");
    if !suite.figures.is_empty() {
        page.push_str("<a href=\"#figures\">Tables and figures</a>");
    }
    page.push_str("<a href=\"#graphs\">Graphs and results</a><a href=\"#machine\">Machine</a><a href=\"#raw\">Raw data</a></nav>\n");
}

/// A figure; none if it would be empty.
fn of_figure(figure: &Figure, suite: &Suite, results: &Results) -> Option<String> {
    let chart = chart(figure, suite, results);
    let table = table(figure, &chart, suite, results);
    if table.rows.is_empty() {
        return None;
    }
    let is_wide = if figure.kind == Kind::Table { table.headings.len() > 5 } else { is_wide(figure, &chart) };
    let mut text =
        format!("<figure{}>\n<h3>{}</h3>\n", if is_wide { " class=\"wide\"" } else { "" }, escape(&figure.title));
    if figure.kind == Kind::Table {
        text += &of_table(&table);
    } else {
        let _ = writeln!(text, "<div class=\"scroll plot\">{}</div>", plot(figure, &chart));
        text += &legend(figure, &chart);
        if table.marked {
            let _ = writeln!(text, "<p class=\"note\">{GENERATED}</p>");
        }
        let _ = write!(text, "<details><summary>Numbers</summary>\n{}</details>\n", of_table(&table));
    }
    if let Some(note) = &figure.note {
        let _ = writeln!(text, "<figcaption>{}</figcaption>", escape(note));
    }
    Some(text + "</figure>\n")
}

/// What the colours and marks stand for.
fn legend(figure: &Figure, chart: &Chart) -> String {
    if figure.kind == Kind::Box {
        return String::new();
    }
    let mut text = "<ul class=\"legend\">\n".to_owned();
    for (i, series) in chart.series.iter().enumerate() {
        let again = i / COLOURS % 2 == 1;
        let (class, sample) = match figure.kind {
            Kind::Bar => {
                (if again { " pale" } else { "" }, "<rect x=\"7\" y=\"1\" width=\"12\" height=\"12\"/>".to_owned())
            }
            _ => {
                let line = "<path class=\"line\" d=\"M1 7H25\"/>".to_owned();
                (if again { " dashed" } else { "" }, line + &mark(i, 13.0, 7.0, ""))
            }
        };
        let label = escape(&series.label);
        let _ = writeln!(
            text,
            "<li class=\"s{}{class}\"><svg viewBox=\"0 0 26 14\" aria-hidden=\"true\"><g class=\"{}\">{sample}</g></svg>\
             <span style=\"color:var(--ink)\">{label}</span></li>",
            i % COLOURS,
            class.trim()
        );
    }
    text + "</ul>\n"
}

/// All results, the machine, the suite and the raw data.
fn details(page: &mut String, results: &Results) {
    let _ = write!(
        page,
        "<h2 id=\"graphs\">Graphs and results</h2>\n<section class=\"card\">\n<details><summary>All {}</summary>\n{}</details>\n\
         <details><summary>All results</summary>\n{}</details>\n</section>\n",
        escape(&human::counted(results.graphs.len(), "graph", "graphs")),
        of_table(&all_graphs(results)),
        of_table(&all_results(results)),
    );
    page.push_str("<h2 id=\"machine\">Machine, versions, command</h2>\n<section class=\"card\">\n<dl>\n");
    for (name, value) in about(results) {
        let _ = writeln!(page, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(&value));
    }
    let _ = write!(
        page,
        "</dl>\n<details><summary>The suite</summary>\n<pre>{}</pre>\n</details>\n</section>\n\
         <h2 id=\"raw\">Raw data</h2>\n<section class=\"card\">\n<p>Every single time in seconds, as in results.csv; \
         results.json also has what the algorithms counted.</p>\n<details><summary>results.csv</summary>\n<pre>{}</pre>\n\
         </details>\n</section>\n",
        escape(&results.suite.toml),
        escape(&csv(results)),
    );
}

fn of_table(table: &Table) -> String {
    let class = |i: usize| {
        let is_paper = table.headings[i].starts_with("paper: ");
        if i < table.names {
            " class=\"name\""
        } else if is_paper {
            " class=\"paper\""
        } else {
            ""
        }
    };
    let mut text = String::new();
    if let Some(unit) = &table.unit {
        let _ = writeln!(text, "<p class=\"unit\">{}</p>", escape(unit));
    }
    text += "<div class=\"scroll\"><table>\n<thead><tr>";
    for (i, heading) in table.headings.iter().enumerate() {
        let _ = write!(text, "<th{}>{}</th>", class(i), escape(heading));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        let is_mean = row.first().is_some_and(|cell| cell.text == "geometric mean");
        text += if is_mean { "<tr class=\"mean\">" } else { "<tr>" };
        for (i, cell) in row.iter().enumerate() {
            let shown = escape(&cell.text);
            let shown = if cell.best { format!("<b>{shown}</b>") } else { shown };
            let _ = write!(text, "<td{}>{shown}</td>", class(i));
        }
        text += "</tr>\n";
    }
    text += "</tbody></table></div>\n";
    if table.marked {
        let _ = writeln!(text, "<p class=\"note\">{GENERATED}</p>");
    }
    text
}

/// Text that is no markup, within elements and attributes alike. Control characters have no place in XML.
pub(super) fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escaped_is_markup() {
        assert_eq!(escape("<a href=\"x\">&'\u{1b}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\u{fffd}");
    }
}
