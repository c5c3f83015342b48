//! A commented spec, written from a template.

/// Where a person has to fill something in; no data lies there, so nothing is started on it by mistake.
pub const FILL_IN: &str = "FILL-IN";

/// A template with the value of each name in `<>` in its place. What is filled in is not looked at again.
pub fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut parts = template.split('<');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let named = part.split_once('>').and_then(|(name, rest)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((value.as_str(), rest))
        });
        let (value, rest) = named.unwrap_or(("<", part));
        text.extend([value, rest]);
    }
    text
}
