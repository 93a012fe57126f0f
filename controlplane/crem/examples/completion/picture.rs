//! Completion times as cumulative curves, SVG.

use plotters::prelude::*;

const SIZE: (u32, u32) = (1000, 420);

/// Colours that remain distinct for colour-blind readers (Okabe and Ito).
const COLOURS: [RGBColor; 5] = [
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
];

/// One curve per scheme: which share of the transfers had completed by then.
pub fn completion_svg(curves: &[(&str, Vec<u64>)]) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    {
        let longest = curves.iter().flat_map(|(_, times)| times).max().copied().unwrap_or(1);
        let ms = |time: u64| time as f64 / 1e6;
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption("WRITE of 16 MiB, 100 Gbit/s, 20 ms round trip, 0.1 % loss", ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..ms(longest) * 1.02, 0.0..1.0)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc("completion time (ms)")
            .y_desc("share of transfers")
            .draw()?;
        for ((name, times), colour) in curves.iter().zip(COLOURS) {
            let mut times = times.clone();
            times.sort_unstable();
            let count = times.len() as f64;
            let steps = times.iter().enumerate().flat_map(|(done, &time)| {
                [(ms(time), done as f64 / count), (ms(time), (done + 1) as f64 / count)]
            });
            chart
                .draw_series(LineSeries::new(steps, colour.stroke_width(2)))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}
