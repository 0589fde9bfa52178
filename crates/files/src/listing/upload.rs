//! The form for uploads in the page of a listing: a zone to drop files on, and the script behind it.
//!
//! The page has a policy of its own (Content-Security-Policy) by which browsers run this script only, load nothing from
//! elsewhere, and show the page in frames of the same site only. It names style and script by their digests; a test
//! compares them.

/// The form, above the table.
pub(super) const FORM: &str = concat!(
    "<section class=\"upload\" aria-label=\"Upload\">\n",
    "<label class=\"drop\" hidden><svg><use href=\"#upload\"/></svg>",
    "<span><b>Choose files</b> or drop them here</span><input type=\"file\" multiple></label>\n",
    "<noscript>Uploads need JavaScript.</noscript>\n<ul></ul>\n<p role=\"status\"></p>\n</section>\n"
);

/// The style of a page with the form.
pub(super) const STYLE: &str = concat!(include_str!("style.css"), include_str!("upload.css"));

/// The form's symbols, in an `svg` element.
pub(super) const SYMBOLS: &str =
    concat!("<svg hidden xmlns=\"http://www.w3.org/2000/svg\">\n", include_str!("upload.svg"), "</svg>\n");

/// The script, at the end of the page.
pub(super) const SCRIPT: &str = include_str!("upload.js");

/// The Content-Security-Policy of a page with the form.
pub(super) const POLICY: &str = concat!(
    "default-src 'none'; script-src 'sha256-bSEj1Yzq/AcRTJxWJ0fl461zBlXxE4i1f4YnRfGD0AI='; style-src 'sha256-pp1S2932+QWBH/fgzS4vwnSBEvrkoeSpijVl/o0B0zY='; ",
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
);

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn the_policy_names_style_and_script() {
        for (part, text) in [("script-src", SCRIPT.to_owned()), ("style-src", format!("\n{STYLE}"))] {
            let digest = base64(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes()).as_ref());
            assert!(POLICY.contains(&format!("{part} 'sha256-{digest}'")), "write {part} 'sha256-{digest}' in POLICY");
        }
    }

    #[test]
    fn nothing_ends_style_and_script_early() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
    }

    fn base64(bytes: &[u8]) -> String {
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let mut bits = 0_u32;
            (0..3).for_each(|place| bits = bits << 8 | u32::from(three.get(place).copied().unwrap_or(0)));
            for place in 0..4 {
                let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
                let _ = write!(text, "{}", if place <= three.len() { letter as char } else { '=' });
            }
        }
        text
    }

    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}
