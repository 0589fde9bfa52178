//! The programs in the guides, compiled as tests of documentation.

#[doc = include_str!("../../../docs/from-axum.md")]
struct FromAxum;

#[doc = include_str!("../../../docs/from-hyper.md")]
struct FromHyper;
