//! The bottleneck queue over time as SVG: the schemes overlaid, `B_th` drawn across.

use plotters::prelude::*;
use wire::units::Nanos;

use crate::run::Outcome;

const SIZE: (u32, u32) = (1000, 420);
const COLUMNS: usize = 900;

/// How many batches of each scheme the picture shows: the first finds senders that know nothing, the second senders
/// that have learnt; more would only repeat that.
const BATCHES_SHOWN: usize = 2;

/// Colours that remain distinct for colour-blind readers (Okabe and Ito), by scheme in the order given.
const COLOURS: [RGBColor; 6] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Why a picture couldn't be drawn.
#[derive(Debug, thiserror::Error)]
#[error("can't draw the queue: {0}")]
pub struct ChartError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for ChartError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// Draws the bottleneck queue of each run.
///
/// # Errors
/// When the drawing library refuses; with an in-memory target that is a fault of ours.
pub fn queue_svg(title: &str, outcomes: &[Outcome]) -> Result<String, ChartError> {
    let mut svg = String::new();
    {
        let b_th = outcomes.first().map_or(0, |o| o.summary.bottleneck.b_th_octets);
        let shown = |o: &Outcome| {
            let batches = &o.batches[..o.batches.len().min(BATCHES_SHOWN)];
            (batches.first().map_or(Nanos(0), |b| b.0), batches.last().map_or(Nanos(0), |b| b.1))
        };
        let span = outcomes
            .iter()
            .map(|o| {
                let (from, to) = shown(o);
                to - from
            })
            .max()
            .unwrap_or_default();
        let peak =
            outcomes.iter().map(|o| o.summary.bottleneck.queue_peak_octets).max().unwrap_or(0).max(b_th);

        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(72)
            .build_cartesian_2d(0.0..micros(span), 0.0..kilo(peak) * 1.08)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc("time since the start of the first batch (us); two batches of each scheme")
            .y_desc("queue at the bottleneck (kB)")
            .x_label_formatter(&|us| format!("{us:.0}"))
            .y_label_formatter(&|kb| format!("{kb:.0}"))
            .draw()?;

        for (outcome, colour) in outcomes.iter().zip(COLOURS.into_iter().cycle()) {
            let (from, to) = shown(outcome);
            let points = outcome
                .queue
                .envelope(from, to, COLUMNS)
                .into_iter()
                .flat_map(|(at, low, high)| [(micros(at), kilo(low)), (micros(at), kilo(high))]);
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(1)))?
                .label(outcome.summary.scheme)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
        }
        let threshold = [(0.0, kilo(b_th)), (micros(span), kilo(b_th))];
        chart
            .draw_series(DashedLineSeries::new(threshold, 8, 5, BLACK.stroke_width(1)))?
            .label("B_th")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], BLACK));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}

fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1000.0
}

fn kilo(octets: u64) -> f64 {
    octets as f64 / 1000.0
}
