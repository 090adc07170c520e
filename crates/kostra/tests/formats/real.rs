//! The real graphs, where they are there.

use std::io::Write;
use std::path::{Path, PathBuf};

fn real_graphs() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/graphs");
    if folder.is_dir() {
        return Some(folder);
    }
    // Straight to standard error, where the test runner does not swallow it.
    let _ = writeln!(std::io::stderr(), "skipped: real graphs; there is no folder shared/graphs beside the project");
    None
}

/// The table of the real graphs: vertices, edges, trees and weight, computed with other programs.
#[test]
fn real_graphs_have_their_known_forests() {
    let Some(folder) = real_graphs() else { return };
    for (name, vertices, edges, trees, weight) in [
        ("USA-road-d.NY.gr.gz", 264_346, 365_050, 1, "261159288"),
        ("osm-cities-de.mtx.xz", 4_931_837, 5_508_134, 6_228, "9878807052"),
        ("pace2018-t3-178.gr.gz", 147_718, 214_176, 1, "185765280"),
        ("uk-2007-05@100000.txt.xz", 100_000, 2_779_575, 1, "99999"),
        ("ego-twitter.txt.gz", 81_307, 1_342_310, 2, "81305"),
        ("dblp-2010.mtx.gz", 326_186, 807_700, 48_493, "277693"),
        ("wave.graph.bz2", 156_317, 1_059_331, 1, "156316"),
    ] {
        let graph = kostra::read(folder.join(name)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((graph.vertices(), graph.edges()), (vertices, edges), "{name}");
        let forest = kostra::minimum_spanning_forest(&graph).unwrap();
        assert_eq!((forest.trees(), forest.weight().to_string()), (trees, weight.into()), "{name}");
        kostra::verify(&graph, forest.edges(), false, &kostra::Watch::default()).unwrap();
    }
}
