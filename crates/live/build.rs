//! Compiles the BPF programs of the daemons.

#[path = "bpf/compile.rs"]
mod compile;

fn main() {
    compile::compile();
}
