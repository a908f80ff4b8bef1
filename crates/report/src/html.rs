//! Escapes text for HTML: between tags, in attributes, and JSON in script elements. Names and texts
//! of users never become markup.

/// Escapes text between tags or in an attribute in double quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// JSON as the text of a script element, without end tags.
pub fn json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_are_text() {
        assert_eq!(escape("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
        let value = serde_json::json!({ "scheme": "</script><script>alert(1)" });
        assert!(!json(&value).contains('<'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json(&value)).unwrap(), value);
    }
}
