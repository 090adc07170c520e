//! What the fuzz targets share.

use std::cell::OnceCell;
use std::path::PathBuf;

use kostra::{Graph, Run, Watch, solve, verify};
use tempfile::TempDir;

/// A path in a folder of this process, in memory where the system has such a place.
pub fn path(name: &str) -> PathBuf {
    thread_local!(static FOLDER: OnceCell<TempDir> = const { OnceCell::new() });
    let make = || {
        let shm = PathBuf::from("/dev/shm");
        let place = if shm.is_dir() { shm } else { std::env::temp_dir() };
        TempDir::new_in(place).expect("a folder for files")
    };
    FOLDER.with(|folder| folder.get_or_init(make).path().join(name))
}

/// The edges of the forest, which are proved minimum.
pub fn proved(graph: &Graph, maximum: bool) -> Vec<u32> {
    let forest = solve(graph, &Run::new("kruskal").expect("a name").maximum(maximum)).expect("a forest");
    verify(graph, forest.edges(), maximum, &Watch::new()).expect("a minimum forest");
    forest.edges().to_vec()
}
