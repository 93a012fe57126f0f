//! The comparison as a page: the table and the picture, nothing loaded from elsewhere.

use std::fmt::Write as _;

use super::table;
use crate::run::Outcome;

/// One topology on a page.
pub struct Section<'a> {
    /// The topology's name.
    pub name: &'a str,
    /// What it shows, one line.
    pub description: &'a str,
    /// Its runs.
    pub outcomes: &'a [Outcome],
    /// Where its picture lies, relative to the page.
    pub picture: &'a str,
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1080px;padding:0 1rem;color:#222}\
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.2rem}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.86rem}\
th,td{padding:.35rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}\
th{vertical-align:bottom;color:#555;font-weight:600}th:first-child,td:first-child{text-align:left}\
img{width:100%;height:auto;margin-top:1rem}.wide{overflow-x:auto}";

/// Renders the page.
pub fn html(title: &str, sections: &[Section<'_>]) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escape(title)
    );
    for section in sections {
        render(&mut page, section);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn render(page: &mut String, section: &Section<'_>) {
    let _ = write!(
        page,
        "<h2>{}</h2>\n<p>{}</p>\n<div class=\"wide\"><table>\n<tr>",
        escape(section.name),
        escape(section.description)
    );
    let columns = table::columns(section.outcomes);
    for column in &columns {
        let _ = write!(page, "<th>{}</th>", escape(column.heading).replace('\n', "<br>"));
    }
    page.push_str("</tr>\n");
    for outcome in section.outcomes {
        page.push_str("<tr>");
        for column in &columns {
            let _ = write!(page, "<td>{}</td>", escape(&(column.cell)(&outcome.summary)));
        }
        page.push_str("</tr>\n");
    }
    let _ = write!(
        page,
        "</table></div>\n<img src=\"{}\" alt=\"Queue at the bottleneck over time, one line a scheme, with the threshold B_th\">\n",
        escape(section.picture)
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
