//! The papers' own files, which cannot be generated: taken from a folder where the user has them.

use std::path::{Path, PathBuf};

use kostra::io::Format;

const COMPRESSIONS: [&str; 5] = ["", ".gz", ".zst", ".bz2", ".xz"];

/// The file of that name in the folder: as it is, or with the extension of a format, compressed or not.
pub(super) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let extensions = Format::ALL.into_iter().flat_map(|format| format.extensions().iter().map(|e| format!(".{e}")));
    let names = std::iter::once(String::new()).chain(extensions);
    let files = names.flat_map(|end| COMPRESSIONS.map(|packed| folder.join(format!("{name}{end}{packed}"))));
    files.into_iter().find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_found_and_dots_in_names_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("USA-road-d.NY.gr.gz");
        std::fs::write(&file, "").expect("a file");
        assert_eq!(find(folder.path(), "USA-road-d.NY"), Some(file.clone()));
        assert_eq!(find(folder.path(), "USA-road-d.NY.gr"), Some(file));
        assert_eq!(find(folder.path(), "USA-road-d"), None);
    }
}
