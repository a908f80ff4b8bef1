//! Counters that one thread increments and others read.
//!
//! A macro declares them with their names, for JSON and metrics.

/// Declares a struct of named counters, one line for each with a description.
macro_rules! shared_counters {
    ($(#[doc = $about:literal])+ $type:ident { $($(#[doc = $doc:literal])+ $name:ident,)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Default)]
        pub struct $type { $($(#[doc = $doc])+ pub $name: std::sync::atomic::AtomicU64,)+ }
        impl $type {
            /// Names and descriptions of the counters.
            pub const ABOUT: &'static [(&'static str, &'static str)] =
                &[$((stringify!($name), concat!($($doc),+).trim_ascii()),)+];
            /// Names and values.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name.load(std::sync::atomic::Ordering::Relaxed)),)+].into_iter()
            }
        }
    };
}
pub(crate) use shared_counters;
