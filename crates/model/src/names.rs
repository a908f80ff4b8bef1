//! Choices with names: enums that scenarios, lists and Python name, and help for a wrong name.
//!
//! An enum that implements [`Named`] derives its names from its variants and its descriptions from
//! their doc comments. Serde has to use the same names; a test of the enum checks that it does.

use std::fmt;

/// An enum of unit variants, one for each implementation that a scenario can name.
///
/// Derive `strum::VariantArray`, `strum::IntoStaticStr` and `strum::EnumMessage` for it.
pub trait Named: Copy + Into<&'static str> + strum::VariantArray + strum::EnumMessage {
    /// What error messages call one of them, such as `circuit scheduler`.
    const KIND: &'static str;

    /// All variants, in the order of their definition.
    fn all() -> &'static [Self] {
        Self::VARIANTS
    }

    /// The name in scenarios and results.
    fn name(self) -> &'static str {
        self.into()
    }

    /// The doc comment of the variant.
    fn about(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }

    /// Finds a variant by its name.
    ///
    /// # Errors
    /// If no variant has this name.
    fn named(name: &str) -> Result<Self, UnknownName> {
        let found = Self::VARIANTS.iter().copied().find(|v| v.name() == name);
        found.ok_or_else(|| UnknownName::new(Self::KIND, name, Self::VARIANTS.iter().map(|v| v.name())))
    }
}

/// A name that no variant or entry has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: Vec<String>,
}

impl UnknownName {
    /// Reports that none of the `known` is called `name`.
    pub fn new<'a>(kind: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { kind, name: name.to_owned(), known: known.into_iter().map(str::to_owned).collect() }
    }

    /// The known name that was probably meant, if any is similar.
    pub fn nearest(&self) -> Option<String> {
        nearest(&self.name, self.known.iter().map(String::as_str))
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} `{}`: expected ", self.kind, self.name)?;
        match self.known.split_last() {
            None => f.write_str("nothing, as none exists")?,
            Some((only, [])) => write!(f, "`{only}`")?,
            Some((last, others)) => {
                let others: Vec<String> = others.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "{} or `{last}`", others.join(", "))?;
            }
        }
        self.nearest().map_or(Ok(()), |name| write!(f, "; did you mean `{name}`?"))
    }
}

impl std::error::Error for UnknownName {}

/// Finds the `known` name that is most like `found`, if any is similar enough to be meant.
///
/// Case and the difference between `-` and `_` do not count. A name is similar if at most a third
/// of the letters differ (or two letters), or if it starts with `found`.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let plain = |s: &str| s.to_lowercase().replace('-', "_");
    let found = plain(found);
    let length = found.chars().count();
    known
        .into_iter()
        .map(|name| (strsim::osa_distance(&found, &plain(name)), name))
        .filter(|&(d, name)| (d <= 2.max(length / 3) && d < length) || (length >= 3 && plain(name).starts_with(&found)))
        .min_by_key(|&(d, _)| d)
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, strum::VariantArray, strum::IntoStaticStr, strum::EnumMessage)]
    #[strum(serialize_all = "snake_case")]
    enum Fruit {
        /// Grows on trees.
        GrannySmith,
        Pear,
    }

    impl Named for Fruit {
        const KIND: &'static str = "fruit";
    }

    #[test]
    fn variants_are_found_by_name() {
        assert_eq!(Fruit::named("granny_smith"), Ok(Fruit::GrannySmith));
        assert_eq!((Fruit::GrannySmith.about(), Fruit::Pear.about()), ("Grows on trees.", ""));
        let error = Fruit::named("Granny-Smiht").unwrap_err();
        assert_eq!(error.nearest().as_deref(), Some("granny_smith"));
        assert_eq!(
            error.to_string(),
            "unknown fruit `Granny-Smiht`: expected `granny_smith` or `pear`; did you mean `granny_smith`?"
        );
        assert_eq!(Fruit::named("kiwi").unwrap_err().nearest(), None);
    }

    #[test]
    fn lists_of_known_names_read_well() {
        let text = |known: &[&str]| UnknownName::new("plan", "tdm", known.iter().copied()).to_string();
        assert_eq!(text(&[]), "unknown plan `tdm`: expected nothing, as none exists");
        assert_eq!(text(&["tdma"]), "unknown plan `tdm`: expected `tdma`; did you mean `tdma`?");
        assert_eq!(text(&["rates", "a", "b"]), "unknown plan `tdm`: expected `rates`, `a` or `b`");
    }
}
