//! Plots as SVG, drawn with the colours of the page: they follow it from light to dark.

use std::fmt::Write;

use super::chart::{Chart, Series, X};
use super::html::escape;
use super::scale::{Scale, Tick};
use super::table::axis_name;
use super::units::{Unit, tick};
use crate::bench::suite::{Axis, Figure, Kind};

/// The size of a plot, and the room around it for numbers and names.
const WIDTH: f64 = 560.0;
const WIDE: f64 = 1160.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;

/// Room for names that stand aslant, by their length.
const SLANTED: f64 = 34.0;
const PER_LETTER: f64 = 4.7;

/// The least width of a bar, and of the gap between the bars of two graphs.
const BAR: f64 = 6.0;
const GAP: f64 = 14.0;

/// More bars than this are wide.
const NARROW: usize = 24;

/// Colours of the style sheet, and shapes; the seventeenth series looks like the first but is dashed.
pub(super) const COLOURS: usize = 8;

/// The plot of a figure.
pub(super) fn plot(figure: &Figure, chart: &Chart) -> String {
    let unit = Unit::of(&figure.y[0], chart.values(0));
    let slots: Vec<&str> =
        chart.xs.iter().filter_map(|x| if let X::Name(name) = x { Some(&name[..]) } else { None }).collect();
    let is_named = figure.kind != Kind::Line || !slots.is_empty();
    let per_slot = if figure.kind == Kind::Bar { chart.series.len().max(1) as f64 * BAR + GAP } else { 30.0 };
    let least = if is_wide(figure, chart) { WIDE } else { WIDTH };
    let width = if is_named { least.max(LEFT + RIGHT + per_slot * chart.xs.len() as f64) } else { WIDTH };
    let longest = chart.xs.iter().map(|x| slot_name(x).chars().count()).max().unwrap_or(0).min(30) as f64;
    let bottom = if is_named && !fits(chart, width) { SLANTED + PER_LETTER * longest } else { BOTTOM };
    let height = HEIGHT + bottom - BOTTOM;

    let mut values: Vec<f64> = chart.values(0).map(|value| value / unit.size).collect();
    if figure.kind == Kind::Bar && figure.log_y {
        // The shortest bar is a bar, too.
        values.extend(values.iter().copied().filter(|value| *value > 0.0).reduce(f64::min).map(|least| least * 0.6));
    }
    let y = Scale::new(&values, figure.log_y, height - bottom, TOP);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" style=\"--width:{width:.0}px\" role=\"img\" aria-label=\"{}\">\n",
        escape(&figure.title)
    );
    let title = unit.heading(figure.y[0].name());
    let _ = writeln!(svg, "<text class=\"axis\" x=\"4\" y=\"14\">{}</text>", escape(&title));
    grid(&mut svg, &y.ticks(), |value| y.at(value), width);
    let frame = Frame { figure, chart, unit, y, width, height, bottom };
    match figure.kind {
        Kind::Line if !is_named => frame.lines(&mut svg),
        Kind::Line => frame.points(&mut svg),
        Kind::Box => frame.boxes(&mut svg),
        Kind::Bar | Kind::Table => frame.bars(&mut svg),
    }
    let name = axis_name(&figure.x);
    if name != "graph" {
        let middle = (LEFT + width - RIGHT) / 2.0;
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            height - 6.0,
            escape(&name)
        );
    }
    svg + "</svg>\n"
}

/// Whether a plot has so many bars or names that it takes a row of its own.
pub(super) fn is_wide(figure: &Figure, chart: &Chart) -> bool {
    let bars = if figure.kind == Kind::Bar { chart.series.len() } else { 1 };
    figure.kind != Kind::Line && chart.xs.len() * bars > NARROW
}

/// Whether the names fit side by side.
fn fits(chart: &Chart, width: f64) -> bool {
    let slot = (width - LEFT - RIGHT) / chart.xs.len().max(1) as f64;
    chart.xs.iter().all(|x| slot_name(x).chars().count() as f64 * 7.5 < slot)
}

fn slot_name(x: &X) -> String {
    match x {
        X::Name(name) => name.clone(),
        X::Number(value) => tick(*value),
    }
}

/// Horizontal lines with their numbers.
fn grid(svg: &mut String, ticks: &[Tick], at: impl Fn(f64) -> f64, width: f64) {
    for Tick { value, labelled } in ticks {
        let y = at(*value);
        let class = if *labelled { "grid" } else { "grid minor" };
        let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{:.0}\"/>", width - RIGHT);
        if *labelled {
            let _ = writeln!(
                svg,
                "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 7.0,
                y + 4.0,
                tick(*value)
            );
        }
    }
}

/// A plot with its y-axis.
struct Frame<'a> {
    figure: &'a Figure,
    chart: &'a Chart,
    unit: Unit,
    y: Scale,
    width: f64,
    height: f64,
    bottom: f64,
}

impl Frame<'_> {
    fn floor(&self) -> f64 {
        self.height - self.bottom
    }

    /// Lines over numbers, with a mark at every value.
    fn lines(&self, svg: &mut String) {
        let number = |x: &X| if let X::Number(value) = x { *value } else { 0.0 };
        let xs: Vec<f64> = self.chart.xs.iter().map(number).collect();
        let mut x = Scale::new(&xs, self.figure.log_x, LEFT + 8.0, self.width - RIGHT - 8.0);
        if !self.figure.log_x {
            // Degrees or threads need no zero.
            let first = xs.iter().copied().fold(f64::INFINITY, f64::min);
            let last = xs.iter().copied().fold(first, f64::max);
            x = x.beginning_at(first - (last - first) * 0.03);
        }
        let are_few = matches!(self.figure.x, Axis::Threads | Axis::Round) && xs.len() <= 16;
        let own = || xs.iter().map(|&value| Tick { value, labelled: true }).collect();
        for Tick { value, labelled } in if are_few { own() } else { x.ticks() } {
            let at = x.at(value);
            let class = if labelled { "grid" } else { "grid minor" };
            let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{at:.1} {TOP}V{:.0}\"/>", self.floor());
            if labelled {
                let _ = writeln!(
                    svg,
                    "<text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                    self.floor() + 17.0,
                    tick(value)
                );
            }
        }
        for (i, series) in self.chart.series.iter().enumerate() {
            let values = xs.iter().zip(&series.values).filter_map(|(x, values)| Some((*x, *values.first()?)));
            let values: Vec<(f64, f64)> = values.collect();
            let places: Vec<(f64, f64)> =
                values.iter().map(|&(at, value)| (x.at(at), self.y.at(value / self.unit.size))).collect();
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            let _ =
                writeln!(svg, "<g class=\"s{}{}\">", i % COLOURS, if i / COLOURS % 2 == 1 { " dashed" } else { "" });
            if path.len() > 1 {
                let _ = writeln!(svg, "<path class=\"line\" d=\"M{}\"/>", path.join("L"));
            }
            for (&(px, py), &(at, value)) in places.iter().zip(&values) {
                let title =
                    format!("{}: {} {}, {}", series.label, axis_name(&self.figure.x), tick(at), self.value(value));
                let _ = writeln!(svg, "{}", mark(i, px, py, &title));
            }
            svg.push_str("</g>\n");
        }
    }

    /// Marks over names.
    fn points(&self, svg: &mut String) {
        let slot = self.slots(svg);
        for (i, series) in self.chart.series.iter().enumerate() {
            let _ = writeln!(svg, "<g class=\"s{}\">", i % COLOURS);
            for (place, values) in series.values.iter().enumerate() {
                for &value in values {
                    let y = self.y.at(value / self.unit.size);
                    let _ = writeln!(
                        svg,
                        "{}",
                        mark(i, LEFT + (place as f64 + 0.5) * slot, y, &self.title(series, place, value))
                    );
                }
            }
            svg.push_str("</g>\n");
        }
    }

    fn bars(&self, svg: &mut String) {
        let slot = self.slots(svg);
        let count = self.chart.series.len().max(1) as f64;
        let bar = ((slot - GAP * 0.8) / count).clamp(2.0, 36.0);
        let floor = self.y.floor();
        for (i, series) in self.chart.series.iter().enumerate() {
            let _ = writeln!(svg, "<g class=\"s{}{}\">", i % COLOURS, if i / COLOURS % 2 == 1 { " pale" } else { "" });
            for (place, values) in series.values.iter().enumerate() {
                let Some(&value) = values.first() else { continue };
                let left = LEFT + (place as f64 + 0.5) * slot + (i as f64 - count / 2.0) * bar;
                let top = self.y.at(value / self.unit.size).min(floor - 1.0);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                    bar * 0.88,
                    floor - top,
                    escape(&self.title(series, place, value))
                );
            }
            svg.push_str("</g>\n");
        }
    }

    /// A box from the first to the third quartile, a line at the median, whiskers to the smallest and the largest.
    fn boxes(&self, svg: &mut String) {
        let slot = self.slots(svg);
        let half = (slot * 0.3).min(16.0);
        svg.push_str("<g class=\"s0\">\n");
        for (place, x) in self.chart.xs.iter().enumerate() {
            let mut values: Vec<f64> =
                self.chart.series.iter().flat_map(|series| &series.values[place]).copied().collect();
            values.sort_by(f64::total_cmp);
            if values.is_empty() {
                continue;
            }
            let quarters = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| quantile(&values, part));
            let [low, first, middle, third, high] = quarters.map(|value| self.y.at(value / self.unit.size));
            let at = LEFT + (place as f64 + 0.5) * slot;
            let shown = quarters.map(|value| self.value(value)).join(" / ");
            let title = format!("{}: {shown}, of {} runs", slot_name(x), values.len());
            let _ = writeln!(
                svg,
                "<g><title>{}</title><path class=\"line\" d=\"M{at:.1} {low:.1}V{first:.1}M{at:.1} {third:.1}V{high:.1}\
                 M{:.1} {low:.1}H{:.1}M{:.1} {high:.1}H{:.1}\"/><rect class=\"box\" x=\"{:.1}\" y=\"{third:.1}\" \
                 width=\"{:.1}\" height=\"{:.1}\"/><path class=\"line\" d=\"M{:.1} {middle:.1}H{:.1}\"/></g>",
                escape(&title),
                at - half / 2.0,
                at + half / 2.0,
                at - half / 2.0,
                at + half / 2.0,
                at - half,
                half * 2.0,
                (first - third).max(1.0),
                at - half,
                at + half,
            );
        }
        svg.push_str("</g>\n");
    }

    /// Names under the plot; returns the width that each has.
    fn slots(&self, svg: &mut String) -> f64 {
        let slot = (self.width - LEFT - RIGHT) / self.chart.xs.len().max(1) as f64;
        for (place, x) in self.chart.xs.iter().enumerate() {
            let (at, y) = (LEFT + (place as f64 + 0.5) * slot, self.floor() + 17.0);
            let (anchor, turn) = match self.bottom > BOTTOM {
                true => ("end", format!(" transform=\"rotate(-38 {at:.1} {y:.1})\"")),
                false => ("middle", String::new()),
            };
            let name = escape(&slot_name(x));
            let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{turn}>{name}</text>");
        }
        slot
    }

    fn title(&self, series: &Series, place: usize, value: f64) -> String {
        format!("{}, {}: {}", slot_name(&self.chart.xs[place]), series.label, self.value(value))
    }

    fn value(&self, value: f64) -> String {
        format!("{} {}", self.unit.show(value), self.unit.name).trim_end().to_owned()
    }
}

/// The value below which that part of the sorted values lies.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

/// The mark of a series, whose shape tells it apart without its colour.
pub(super) fn mark(series: usize, x: f64, y: f64, title: &str) -> String {
    let path = match series % COLOURS {
        0 => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        1 => "m-3.6 -3.6h7.2v7.2h-7.2z",
        2 => "m0 -4.8l4.6 8h-9.2z",
        3 => "m0 -5l5 5l-5 5l-5 -5z",
        4 => "m0 4.8l4.6 -8h-9.2z",
        5 => "m-1.4 -4.6h2.8v3.2h3.2v2.8h-3.2v3.2h-2.8v-3.2h-3.2v-2.8h3.2z",
        6 => "m-4.6 0l8 -4.6v9.2z",
        _ => "m4.6 0l-8 -4.6v9.2z",
    };
    let title = if title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(title)) };
    format!("<path class=\"mark\" d=\"M{x:.1} {y:.1}{path}\">{title}</path>")
}
