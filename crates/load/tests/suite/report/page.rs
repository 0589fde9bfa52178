//! Checks of any page.

/// Whether the page is well-formed, stands alone, draws inside its drawings, and is not too large to be sent by mail.
pub(crate) fn check(page: &str) -> Result<(), String> {
    if page.len() > 400_000 {
        return Err(format!("{} bytes", page.len()));
    }
    for word in ["NaN", "inf", "src=", "href=", "url(", "@import", "<script", "<link"] {
        if tags(page).any(|tag| tag.contains(word)) || style(page).contains(word) {
            return Err(format!("{word} in a tag or in the style"));
        }
    }
    balanced(page)?;
    numbers(page)
}

fn style(page: &str) -> &str {
    page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap_or_default()
}

/// The texts between < and >. In this page neither stands in an attribute, where they are escaped.
fn tags(page: &str) -> impl Iterator<Item = &str> {
    page.split('<').skip(1).filter_map(|piece| piece.split('>').next())
}

fn balanced(page: &str) -> Result<(), String> {
    let mut open = Vec::new();
    for tag in tags(page).filter(|tag| !tag.starts_with('!') && !tag.ends_with('/') && !tag.starts_with("meta")) {
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
        if !tag.starts_with('/') {
            open.push(name);
        } else if open.pop() != Some(name) {
            return Err(format!("</{name}> where nothing of that name is open"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

/// Places are from 0 to 100 per cent, and from 0 to 1000 in paths.
fn numbers(page: &str) -> Result<(), String> {
    for tag in tags(page) {
        let attributes = tag.split('"').skip(1).step_by(2);
        for percent in
            attributes.filter_map(|value| value.strip_suffix('%')).filter_map(|value| value.parse::<f64>().ok())
        {
            if !(0.0..=100.0).contains(&percent) {
                return Err(format!("outside of its drawing: <{tag}>"));
            }
        }
        let path = tag.split(" d=\"").nth(1).unwrap_or_default();
        for number in path.split(|character: char| !"0123456789.-".contains(character)).filter(|word| !word.is_empty())
        {
            if !number.parse().is_ok_and(|number: f64| (0.0..=1000.0).contains(&number)) {
                return Err(format!("{number} in a path"));
            }
        }
    }
    Ok(())
}
