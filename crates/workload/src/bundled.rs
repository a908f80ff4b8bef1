//! Data compiled into the library, so that a binary needs no files at run time.
//!
//! Sources and licenses are in `data/README.md`.

/// The content of a bundled file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundledKind {
    /// Coflows of a cluster.
    Coflows,
    /// A CDF of flow sizes.
    Cdf,
    /// Weights of pairs.
    Matrix,
    /// A training workload of SimAI.
    Simai,
}

impl BundledKind {
    /// The key of a scenario that takes the name of such data, or a file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Coflows => "workload.coflows.file",
            Self::Simai => "workload.simai.file",
            Self::Cdf => "workload.poisson.sizes.cdf",
            Self::Matrix => "workload.poisson.pattern.matrix.file",
        }
    }
}

/// A bundled file.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// Name in scenarios.
    pub name: &'static str,
    /// Kind of the content.
    pub kind: BundledKind,
    /// Path in the source tree.
    pub file: &'static str,
    /// Text of the file.
    pub text: &'static str,
    /// One sentence on the content and its origin.
    pub about: &'static str,
}

macro_rules! file {
    ($name:literal, $kind:ident, $file:literal, $about:literal) => {
        Bundled {
            name: $name,
            kind: BundledKind::$kind,
            file: concat!("data/", $file),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/", $file)),
            about: $about,
        }
    };
}

/// All bundled files, in the order in which they are listed to users.
pub const BUNDLED: &[Bundled] = &[
    file!(
        "fb2010",
        Coflows,
        "coflow/fb2010.txt",
        "one hour of a MapReduce cluster at Facebook, 2010: 526 coflows among 150 racks"
    ),
    file!("websearch", Cdf, "cdf/websearch.csv", "flow sizes of web search, mean 1.49 MB"),
    file!("datamining", Cdf, "cdf/datamining.csv", "flow sizes of data mining, mean 5.04 MB"),
    file!(
        "fb_hadoop",
        Cdf,
        "cdf/FB_Hadoop_Inter_Rack_FlowCDF.csv",
        "flow sizes between racks of a Hadoop cluster at Facebook, mean 3.42 MB"
    ),
    file!(
        "projector",
        Matrix,
        "matrices/projector_tors_128_probabilities.txt",
        "share of bytes per pair of 128 racks at Microsoft"
    ),
    file!(
        "gpt_13b",
        Simai,
        "collectives/simai/gpt_13b.txt",
        "a training step of GPT with 13 billion parameters, tensor-parallel over 8"
    ),
    file!(
        "llama_7b",
        Simai,
        "collectives/simai/llama_7b.txt",
        "a training step of Llama with 7 billion parameters, tensor-parallel over 2"
    ),
];

/// The bundled file of this name.
pub fn bundled(name: &str) -> Option<&'static Bundled> {
    BUNDLED.iter().find(|b| b.name == name)
}
