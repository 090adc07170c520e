//! One string for many: `er:n=1000,degree={4,8}` is two SPECs, `ecl:without={1..8}` eight algorithms.

/// One of the strings, and what was put in for the braces: keys and values in the order of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expanded {
    pub(super) text: String,
    pub(super) values: Vec<(String, String)>,
}

/// All strings, the last pair of braces changing fastest. Braces hold values `{a,b,c}` or whole numbers `{first..last}` and
/// stand after `key=`.
pub(super) fn expand(text: &str) -> Result<Vec<Expanded>, String> {
    let Some((head, rest)) = text.split_once('{') else {
        return match text.contains('}') {
            true => Err(format!("{text}: a brace is closed that was never opened")),
            false => Ok(vec![Expanded { text: text.into(), values: Vec::new() }]),
        };
    };
    let (inside, tail) = rest.split_once('}').ok_or_else(|| format!("{text}: a brace is never closed"))?;
    let key = head.strip_suffix('=').map(|head| head.rsplit([':', ',']).next().unwrap_or(head));
    let key = key.filter(|key| !key.is_empty()).ok_or_else(|| format!("{text}: {{{inside}}} must stand after key="))?;
    let tails = expand(tail)?;
    let mut all = Vec::new();
    for value in values(inside).ok_or_else(|| format!("{text}: {{{inside}}} is neither {{a,b,c}} nor {{1..8}}"))? {
        for tail in &tails {
            let values = std::iter::once((key.to_owned(), value.clone())).chain(tail.values.iter().cloned());
            all.push(Expanded { text: format!("{head}{value}{}", tail.text), values: values.collect() });
        }
    }
    Ok(all)
}

/// The values between two braces.
fn values(inside: &str) -> Option<Vec<String>> {
    if let Some((first, last)) = inside.split_once("..") {
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // More would be a slip of the finger.
        return (first <= last && last - first < 1000).then(|| (first..=last).map(|value| value.to_string()).collect());
    }
    let values: Vec<String> = inside.split(',').map(|value| value.trim().to_owned()).collect();
    (!values.iter().any(|value| value.is_empty() || value.contains('{'))).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        expand(text).expect("strings").into_iter().map(|expanded| expanded.text).collect()
    }

    #[test]
    fn braces_are_lists_and_ranges_and_multiply() {
        assert_eq!(texts("kruskal"), ["kruskal"]);
        assert_eq!(texts("ecl:without={1..3}"), ["ecl:without=1", "ecl:without=2", "ecl:without=3"]);
        assert_eq!(
            texts("er:n={1,2},degree={4, 8}"),
            ["er:n=1,degree=4", "er:n=1,degree=8", "er:n=2,degree=4", "er:n=2,degree=8"]
        );
        let last = expand("er:n={1,2},degree={4,8}").expect("strings").pop().expect("a string");
        assert_eq!(last.values, [("n".into(), "2".into()), ("degree".into(), "8".into())]);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["er:n={1,2", "er:n=1}", "er:{n,m}=1", "er:n={}", "er:n={1,,2}", "er:n={2..1}", "er:n={a..b}"] {
            assert!(expand(text).is_err_and(|what| what.starts_with(text)), "{text}");
        }
    }
}
