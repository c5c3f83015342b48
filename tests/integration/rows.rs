//! `sample: rows`: canaries get rows of one file.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;

use crate::project::Project;

/// A project that trains on one file; each canary leaves a copy of what it saw in `seen/`.
fn with_file(name: &str, content: &[u8]) -> Project {
    let project = Project::empty().spec("    budget: {time: 1h}\n");
    let spec = project.read("canary-gate.yml");
    let spec = spec.replace(
        "{uri: data}",
        &format!("{{uri: data/{name}, sample: rows}}"),
    );
    project.write("canary-gate.yml", &spec);
    let seen = project.path("seen");
    fs::create_dir(&seen).unwrap();
    fs::create_dir(project.path("data")).unwrap();
    fs::write(project.path("data").join(name), content).unwrap();
    let script = format!(
        "cp \"$SM_CHANNEL_TRAIN\"/{name} \"$(mktemp {}/XXXXXX)\"\n",
        seen.display()
    );
    project
        .file("train.sh", &script)
        .file(".gitignore", "seen\n.canary-gate\n")
        .committed()
}

/// What each canary saw.
fn seen(project: &Project) -> Vec<Vec<u8>> {
    let files = fs::read_dir(project.path("seen")).unwrap();
    files
        .map(|file| fs::read(file.unwrap().path()).unwrap())
        .collect()
}

fn records(bytes: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(bytes);
    assert_eq!(reader.headers().unwrap(), vec!["id", "text"]);
    let rows = reader.records().map(|row| row.expect("whole rows"));
    rows.map(|row| row.iter().map(str::to_owned).collect())
        .collect()
}

fn hard_csv(rows: usize) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["id", "text"]).unwrap();
    for id in 0..rows {
        let text = ["one, two", "a \"quoted\"\nline", "", "plain\r\n\r\n"][id % 4];
        writer.write_record([&format!("{id:05}"), text]).unwrap();
    }
    writer.into_inner().unwrap()
}

#[test]
fn canaries_get_whole_rows_of_one_csv_under_its_name() {
    let file = hard_csv(5000);
    let project = with_file("data.csv", &file);
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("blocks")
        .reported("train: a canary reads its blocks of data.csv (CSV, blocks of");
    project.run(&["run", "--all", "--quiet"]).ended_with(0);

    let all: HashSet<Vec<String>> = records(&file).into_iter().collect();
    let samples = seen(&project);
    assert_eq!(samples.len(), 6);
    let header = "id,text\n".len();
    let total = file.len() - header;
    let mut sizes = Vec::new();
    for sample in &samples {
        let rows = records(sample);
        let unique: HashSet<_> = rows.iter().cloned().collect();
        assert_eq!(unique.len(), rows.len(), "a row came twice");
        assert!(unique.is_subset(&all), "a row is not of the file");
        sizes.push((sample.len() - header) as u64);
    }
    // What counts as size is what was drawn.
    let mut measured: Vec<u64> = project
        .recorded("canary")
        .iter()
        .map(|canary| canary["bytes"].as_u64().unwrap())
        .collect();
    measured.sort_unstable();
    sizes.sort_unstable();
    assert_eq!(measured, sizes);
    for (size, share) in sizes.iter().zip([0.01, 0.01, 0.02, 0.02, 0.03, 0.03]) {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
        let drawn = *size as f64 / total as f64;
        assert!((drawn / share - 1.0).abs() < 0.25, "{drawn} of {share}");
    }

    // The same canaries again are reused; other data are not.
    let reused = |expected: usize| {
        project.run(&["run", "--all", "--quiet"]).ended_with(0);
        assert_eq!(seen(&project).len(), expected);
    };
    reused(6);
    let mut changed = file.clone();
    let last = changed.len() - 3;
    changed[last] = b'x';
    fs::write(project.path("data/data.csv"), changed).unwrap();
    reused(12);
}

#[test]
fn a_file_may_be_drawn_from_and_linked_as_a_whole() {
    // More than is copied: the whole file is a hard link, which changes it as the file system sees it.
    let project = with_file("data.csv", &hard_csv(200_000));
    let spec = project.read("canary-gate.yml");
    let whole =
        "{uri: data/data.csv, sample: rows}\n        all: {uri: data/data.csv, sample: false}";
    project.write(
        "canary-gate.yml",
        &spec.replace("{uri: data/data.csv, sample: rows}", whole),
    );
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    assert_eq!(seen(&project).len(), 6);
}

#[test]
fn a_small_draw_of_uneven_rows_has_some() {
    // In half of the blocks, of the mean length of a row, no row begins.
    let mut file = String::new();
    for id in 0..100 {
        let text = "x".repeat(if id % 2 == 0 { 300 } else { 1 });
        writeln!(file, "{id} {text}").unwrap();
    }
    let project = with_file("data.txt", file.as_bytes());
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    assert!(seen(&project).iter().all(|sample| !sample.is_empty()));
}

#[test]
fn every_host_has_the_rows_that_were_drawn() {
    let project = with_file("data.csv", &hard_csv(5000));
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("instance: local", "instance: 2x local"),
    );
    let ran = project.run(&["run", "--all", "--quiet", "--format", "json"]);
    let report = ran.ended_with(0).json();
    let measurements = report["jobs"][0]["measurements"].as_array().unwrap();
    for run in measurements {
        assert_eq!(run["hosts"][0]["bytes"], run["bytes"], "{run}");
        assert_eq!(run["hosts"][1]["bytes"], run["bytes"], "{run}");
    }
}

#[test]
fn lines_are_drawn_whole() {
    let mut file = String::new();
    for id in 0..5000 {
        writeln!(file, r#"{{"id": {id}, "text": "{}"}}"#, "x".repeat(id % 50)).unwrap();
    }
    let project = with_file("data.jsonl", file.as_bytes());
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    for sample in seen(&project) {
        let sample = String::from_utf8(sample).unwrap();
        let mut ids = HashSet::new();
        for line in sample.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("a whole line");
            assert!(ids.insert(row["id"].as_u64().unwrap()));
        }
        assert!((25..250).contains(&ids.len()), "{}", ids.len());
    }
}

#[test]
fn every_file_of_a_folder_gives_its_share() {
    let project = with_file("one.csv", &hard_csv(2000));
    fs::write(project.path("data/two.csv"), hard_csv(200)).unwrap();
    fs::write(project.path("data/_SUCCESS"), "").unwrap();
    let spec = project.read("canary-gate.yml");
    let spec = spec.replace("data/one.csv", "data");
    project.write(
        "canary-gate.yml",
        &spec.replace("[1%, 2%, 3%]", "[10%, 20%, 30%]"),
    );
    let script = project.read("train.sh");
    let both = script.replace("/one.csv ", "/two.csv ");
    project.write(
        "train.sh",
        &format!("ls \"$SM_CHANNEL_TRAIN\" | grep -q _ && exit 1\n{script}{both}"),
    );
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let mut counts: Vec<usize> = seen(&project)
        .iter()
        .map(|sample| records(sample).len())
        .collect();
    counts.sort_unstable();
    assert_eq!(counts.len(), 12);
    assert!(counts[0] > 10 && counts[5] < 90, "{counts:?}");
    assert!(counts[6] > 150 && counts[11] < 700, "{counts:?}");
}

#[test]
fn what_has_no_rows_is_refused_with_the_way_out() {
    let refused = |name: &str, content: &[u8], why: &str, way_out: &str| {
        with_file(name, content)
            .run(&["plan", "--all"])
            .ended_with(1)
            .complained("jobs.sums.training.channels.train.sample")
            .complained(name)
            .complained(why)
            .complained(way_out);
    };
    refused("data.npy", b"x", "no format with rows ends so", "`share`");
    refused("data.csv.gz", b"x", "compressed (gz)", "`share`");
    refused("data.csv", b"\x1f\x8b12", "compressed (gzip)", "`share`");
    refused("data.csv", b"id,text\n", "it has no rows", "sample: false");
    refused("data.csv", b"id,text\n1,a\n", "one row", "sample: false");
    refused(
        "data.parquet",
        b"text, not Parquet",
        "not Parquet",
        "Parquet again",
    );
    refused("data.tar", b"x", "no format with rows ends so", "`share`");
}

#[test]
fn a_file_of_one_endless_line_is_refused_in_little_memory() {
    let project = with_file("data.csv", b"x");
    let file = fs::File::options()
        .write(true)
        .open(project.path("data/data.csv"))
        .unwrap();
    // A hole: half a gigabyte without a line end, and none on the disk.
    file.set_len(1 << 29).unwrap();
    project
        .run(&["plan", "--all"])
        .ended_with(1)
        .complained("a row is longer than 8.00 MiB")
        .complained("end rows with line ends");
}

#[test]
fn rows_are_no_share_of_machines() {
    let project = with_file("data.csv", &hard_csv(100));
    let spec = project.read("canary-gate.yml");
    let sharded = "sample: rows, distribution: ShardedByS3Key";
    project.write("canary-gate.yml", &spec.replace("sample: rows", sharded));
    project
        .run(&["validate"])
        .ended_with(2)
        .complained("divides whole");
    project.write(
        "canary-gate.yml",
        &spec.replace("sample: rows", "sample: row"),
    );
    project
        .run(&["validate"])
        .ended_with(2)
        .complained("did you mean `rows`?");
}

/// What Python's own reader makes of a file, a row a line; `None` where there is no Python, or not that module.
fn python(module: &str, program: &str, file: &std::path::Path) -> Option<Vec<String>> {
    let python = |arguments: &[&std::ffi::OsStr]| {
        let program = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        std::process::Command::new(program)
            .args(arguments)
            .output()
            .ok()
    };
    let import = format!("import {module}");
    let has = python(&["-c".as_ref(), import.as_ref()]);
    if !has.is_some_and(|output| output.status.success()) {
        println!("skipped: python3 has no {module} here");
        return None;
    }
    let output = python(&["-c".as_ref(), program.as_ref(), file.as_ref()]).unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn pythons_reader_finds_every_drawn_row_in_the_whole_file() {
    const PROGRAM: &str =
        "import csv, sys\nfor row in csv.reader(open(sys.argv[1], newline='')): print(ascii(row))";
    let project = with_file("data.csv", &hard_csv(3000));
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let Some(all) = python("csv", PROGRAM, &project.path("data/data.csv")) else {
        return;
    };
    let all: HashSet<String> = all.into_iter().collect();
    for sample in fs::read_dir(project.path("seen")).unwrap() {
        let rows = python("csv", PROGRAM, &sample.unwrap().path()).unwrap();
        let unique: HashSet<String> = rows.iter().cloned().collect();
        assert_eq!(unique.len(), rows.len());
        assert!(rows.len() > 20 && unique.is_subset(&all));
    }
}

#[test]
fn pyarrow_reads_every_drawn_row_group() {
    const WRITE: &str = "import pyarrow, pyarrow.parquet, sys\n\
        table = pyarrow.table({'id': [i * 7919 % 50021 for i in range(50000)], 'text': [str(i) * 5 for i in range(50000)]})\n\
        pyarrow.parquet.write_table(table, sys.argv[1], row_group_size=200, write_page_index=True)\n";
    const READ: &str = "import pyarrow.parquet, sys\nfor row in pyarrow.parquet.read_table(sys.argv[1]).to_pylist(): print(row)";
    let project = with_file("data.parquet", b"");
    let file = project.path("data/data.parquet");
    let Some(_) = python("pyarrow.parquet", WRITE, &file) else {
        return;
    };
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("of 250 blocks");
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let all: HashSet<String> = python("pyarrow.parquet", READ, &file)
        .unwrap()
        .into_iter()
        .collect();
    for sample in fs::read_dir(project.path("seen")).unwrap() {
        let rows = python("pyarrow.parquet", READ, &sample.unwrap().path()).unwrap();
        let unique: HashSet<String> = rows.iter().cloned().collect();
        assert_eq!(unique.len(), rows.len());
        assert!(rows.len().is_multiple_of(200) && !rows.is_empty() && unique.is_subset(&all));
    }
}
