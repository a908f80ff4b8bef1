//! Compiles the BPF programs of labs.

#[path = "../live/bpf/compile.rs"]
mod compile;

fn main() {
    println!("cargo:rerun-if-changed=../live/bpf/compile.rs");
    compile::compile();
}
