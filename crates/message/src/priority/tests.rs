use super::*;

fn said(urgency: impl Into<Option<u8>>, incremental: impl Into<Option<bool>>) -> PartialPriority {
    PartialPriority { urgency: urgency.into(), incremental: incremental.into() }
}

#[test]
fn a_field_says_what_it_says() {
    for (value, expected) in [
        ("", said(None, None)),
        ("u=0", said(0, None)),
        ("i", said(None, true)),
        ("u=1, i", said(1, true)),
        ("u=1,i", said(1, true)),
        ("i, u=7", said(7, true)),
        ("  u=1 ,\t i=?0  ", said(1, false)),
        ("u=3;x=\"y\", i;z, other=(1 2);a", said(3, true)),
        // Out of range, of a wrong type, unknown.
        ("u=8, i", said(None, true)),
        ("u=-1", said(None, None)),
        ("u=1.0", said(None, None)),
        ("u=\"1\", i=1", said(None, None)),
        ("u, i=?1", said(None, true)),
        ("u=(1)", said(None, None)),
        ("v=1, j", said(None, None)),
        // The last one counts, whatever it is.
        ("u=1, u=2", said(2, None)),
        ("u=1, u=9", said(None, None)),
        // No dictionary.
        ("u=1,", said(None, None)),
        ("u=1 i", said(None, None)),
        ("u=1, I", said(None, None)),
        ("\tu=1", said(None, None)),
        ("u=1, x=\"", said(None, None)),
        ("u=1, x=%\"%c3\"", said(None, None)),
        ("u=1, x=%\"%c3%a4\"", said(1, None)),
        ("u=1;, i", said(None, None)),
        ("u= 1", said(None, None)),
    ] {
        assert_eq!(PartialPriority::parse(value.as_bytes()), expected, "{value:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn usual_forms_are_read_as_any_other() {
    let mut usual = 0;
    // All values of up to six of these bytes.
    let bytes = b"ui=07, 8";
    let mut values = Vec::from([Vec::new()]);
    for _ in 0..6 {
        for value in &values {
            if let Some(said) = PartialPriority::parse_usual(value) {
                usual += 1;
                assert_eq!(said, PartialPriority::parse_any(value), "{}", value.escape_ascii());
            }
        }
        values = values
            .iter()
            .flat_map(|value| bytes.iter().map(move |byte| [value.as_slice(), &[*byte]].concat()))
            .collect();
    }
    for value in &values {
        if let Some(said) = PartialPriority::parse_usual(value) {
            usual += 1;
            assert_eq!(said, PartialPriority::parse_any(value), "{}", value.escape_ascii());
        }
    }
    assert_eq!(usual, 1 + 3 * 2);
}

#[test]
fn lines_are_joined() {
    let mut headers = Headers::new();
    assert_eq!(Priority::of_fields(&headers), None);
    headers.append("Priority", "u=1").unwrap();
    assert_eq!(Priority::of_fields(&headers), Some(Priority { urgency: 1, incremental: false }));
    headers.append("priority", "i").unwrap();
    assert_eq!(Priority::of_fields(&headers), Some(Priority { urgency: 1, incremental: true }));
    headers.append("PRIORITY", "u=5").unwrap();
    assert_eq!(Priority::of_fields(&headers), Some(Priority { urgency: 5, incremental: true }));
    headers.append("priority", "").unwrap();
    assert_eq!(Priority::of_fields(&headers), Some(Priority::DEFAULT), "an empty member makes all of it wrong");
}

#[test]
fn a_response_changes_what_it_says() {
    let asked = Priority { urgency: 5, incremental: true };
    for (response, expected) in
        [("", "u=5, i"), ("u=1", "u=1, i"), ("i=?0", "u=5"), ("u=0, i=?0", "u=0"), ("u=9", "u=5, i")]
    {
        assert_eq!(asked.merge(PartialPriority::parse(response.as_bytes())).as_str(), expected);
    }
}

#[test]
fn written_priorities_parse_to_themselves() {
    for urgency in 0..=7 {
        for incremental in [false, true] {
            let priority = Priority { urgency, incremental };
            assert_eq!(Priority::parse(priority.as_str().as_bytes()), priority);
            assert_eq!(priority.as_str(), std::format!("{priority}"));
        }
    }
    assert_eq!(Priority { urgency: 8, incremental: false }.as_str(), "u=7");
}
