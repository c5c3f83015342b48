//! Which files of a channel a canary gets: files that every canary gets, partners, classes, the newest.

use std::collections::BTreeSet;

use crate::project::Project;

/// Says what it has of each channel, and takes its time by the number of files.
const LOOK: &str = r#"import os, time
base = os.path.join(os.environ["SM_INPUT_DIR"], "data")
seen = {}
for channel in sorted(os.listdir(base)):
    found = []
    for folder, _, names in os.walk(os.path.join(base, channel)):
        found += [os.path.relpath(os.path.join(folder, name), os.path.join(base, channel)) for name in names]
    seen[channel] = sorted(found)
with open(os.environ["SAID"], "a") as file:
    file.write(";".join(c + "=" + ",".join(f) for c, f in seen.items()) + "\n")
time.sleep(0.01 * sum(len(f) for f in seen.values()))
"#;

fn project(channels: &str) -> Project {
    let project = Project::empty().file("train.py", &format!("{}{LOOK}", Project::READS_IN_PYTHON));
    let said = project.path("said.txt");
    project.file(
        "canary-gate.yml",
        &format!(
            "\
version: 1
backend: local
jobs:
  look:
    training:
      command: [python3, train.py]
      environment: {{SAID: '{}'}}
      channels:
{channels}    instance: local
    canary: {{design: fixed, fractions: [10%, 20%, 30%], replicates: 1, max_share: 10000%}}
    budget: {{time: 10m}}
",
            said.display()
        ),
    )
}

/// What each canary had of a channel, from the smallest to the largest.
fn had(project: &Project, channel: &str) -> Vec<BTreeSet<String>> {
    let said = project.read("said.txt");
    let of_line = |line: &str| {
        let channels = line.split(';').filter_map(|part| part.split_once('='));
        let mut mine = channels.filter(|(name, _)| *name == channel);
        let files = mine.next().map_or("", |(_, files)| files);
        files.split(',').map(str::to_owned).collect()
    };
    said.lines().map(of_line).collect()
}

fn files(project: Project, folder: &str, names: impl IntoIterator<Item = String>) -> Project {
    for name in names {
        project.write(&format!("{folder}/{name}"), "0123456789\n");
    }
    project
}

#[test]
fn some_files_come_with_every_canary_and_are_no_part_of_its_size() {
    let project = project("        train: {uri: data, always: [labels.csv, '*.json']}\n");
    let images = (0..20).map(|index| format!("images/{index:02}.png"));
    let project = files(project, "data", images);
    project.write("data/labels.csv", &"x".repeat(50_000));
    project.write("data/classes.json", "{}");
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    for (files, count) in had(&project, "train").iter().zip([2, 4, 6]) {
        assert!(files.contains("labels.csv") && files.contains("classes.json"));
        assert_eq!(files.len(), count + 2);
    }
    let runs = report["jobs"][0]["measurements"].as_array().unwrap();
    let bytes: Vec<_> = runs
        .iter()
        .map(|run| run["bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(bytes, [22, 44, 66]);
    assert!(
        runs.iter()
            .all(|run| run["bytes_total"] == 220 && run["objects_total"] == 20)
    );
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("10%  2 of 20 objects, about 22 B");
}

#[test]
fn masks_are_those_of_the_images_that_were_drawn() {
    let project =
        project("        images: {uri: images}\n        masks: {uri: masks, draw_with: images}\n");
    let named = |ending: &'static str| (0..20).map(move |index| format!("a/{index:02}.{ending}"));
    let project = files(project, "images", named("jpg"));
    let project = files(project, "masks", named("png"));
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let stems = |channel| -> Vec<BTreeSet<String>> {
        let cut = |name: &String| name[..name.len() - 4].to_owned();
        had(&project, channel)
            .iter()
            .map(|names| names.iter().map(cut).collect())
            .collect()
    };
    assert_eq!(stems("images"), stems("masks"));
    let counts: Vec<usize> = stems("masks").iter().map(BTreeSet::len).collect();
    assert_eq!(counts, [2, 4, 6]);
}

#[test]
fn every_class_is_in_each_canary() {
    let project = project("        train: {uri: data, by: folder}\n");
    let of_class = |class: usize, count: usize| {
        (0..count).map(move |index| format!("class-{class}/{index:03}.png"))
    };
    let all = [40, 30, 20, 8, 2].into_iter().enumerate();
    let project = files(
        project,
        "data",
        all.flat_map(|(class, count)| of_class(class, count)),
    );
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    for (files, count) in had(&project, "train").iter().zip([10, 20, 30]) {
        let classes: BTreeSet<&str> = files.iter().map(|name| &name[..7]).collect();
        assert_eq!((classes.len(), files.len()), (5, count));
    }
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("files of all 5 top folders of channel train");
}

/// Where every folder has a file, the smallest canary may be larger than was asked for, and says so.
#[test]
fn the_real_share_is_said_where_folders_ask_for_more() {
    let project = project("        train: {uri: data, by: folder}\n");
    let all = (0..20).flat_map(|class| (0..2).map(move |index| format!("c{class:02}/{index}.png")));
    let project = files(project, "data", all);
    project
        .run(&["plan", "--all"])
        .ended_with(2)
        .complained("a forecast needs at least 3 runs on 2 sizes");
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("[10%, 20%, 30%]", "[10%, 60%, 70%]"),
    );
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("10%  20 of 40 objects (50%)");
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let runs = &report["jobs"][0]["measurements"];
    assert_eq!(
        (&runs[0]["objects"], &runs[0]["bytes"]),
        (&20.into(), &220.into())
    );
    for class in 0..20 {
        project.write(&format!("flat/c{class}/0.png"), "x");
    }
    let spec = project.read("canary-gate.yml");
    project.write("canary-gate.yml", &spec.replace("uri: data", "uri: flat"));
    project
        .run(&["plan", "--all"])
        .ended_with(1)
        .complained("has one file, so with `by: folder` each canary would be all of the data");
}

#[test]
fn the_newest_months_are_drawn() {
    let project = project("        train: {uri: data, order: last}\n");
    let months = (1..=12).map(|month| format!("2026-{month:02}.csv"));
    let project = files(project, "data", months);
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let canaries = had(&project, "train");
    let last = |count: usize| -> BTreeSet<String> {
        (13 - count..13)
            .map(|month| format!("2026-{month:02}.csv"))
            .collect()
    };
    assert_eq!(canaries, [last(1), last(2), last(4)]);
}

#[test]
fn what_makes_no_sense_is_said_at_its_line() {
    for (channels, said) in [
        (
            "{uri: data, sample: false, always: [a.csv]}",
            "nothing is drawn of this channel",
        ),
        (
            "{uri: data, sample: false, order: last}",
            "nothing is drawn of this channel",
        ),
        ("{uri: data, draw_with: tran}", "`tran` names no channel"),
        (
            "{uri: data, draw_with: train}",
            "the channel cannot be drawn with itself",
        ),
        (
            "{uri: data, draw_with: other, by: folder}",
            "beside `draw_with` the other channel says which files are drawn",
        ),
        (
            "{uri: data, draw_with: whole}",
            "nothing is drawn of that channel",
        ),
        ("{uri: data, always: []}", "there is no pattern"),
        (
            "{uri: data, always: ['!a']}",
            "no pattern includes anything",
        ),
        (
            "{uri: data, always: [/labels.csv]}",
            "`/labels.csv` is not below the channel",
        ),
        (
            "{uri: data, always: [a.csv, '!/labels.csv']}",
            "`!/labels.csv` is not below the channel",
        ),
        (
            "{uri: data, always: [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u]}",
            "21 patterns; a channel has at most 20",
        ),
        (
            "{uri: data, always: [../x]}",
            "write one from the channel's folder, such as `labels.csv`",
        ),
        ("{uri: data, sample: 'true'}", "remove the quotes"),
        ("{uri: data, by: class}", "folder"),
        ("{uri: data, order: first}", "random"),
    ] {
        let more = "        other: {uri: data}\n        whole: {uri: data, sample: false}\n";
        let project = project(&format!("        train: {channels}\n{more}"));
        let words = project.run(&["validate"]).ended_with(2).words();
        assert!(words.contains(said), "{channels}: {words}");
    }
}

#[test]
fn patterns_and_partners_that_the_data_do_not_have_are_said_by_their_field() {
    let few = |project: Project| files(project, "data", (0..9).map(|index| format!("{index}.csv")));
    for (channel, said, help) in [
        (
            "{uri: data, always: [annotations.csv]}",
            "jobs.look.training.channels.train.always: `annotations.csv` matches no file of the channel",
            "correct the pattern",
        ),
        (
            "{uri: data, always: ['**']}",
            "so none is left to draw",
            "write narrower patterns",
        ),
    ] {
        few(project(&format!("        train: {channel}\n")))
            .run(&["plan", "--all"])
            .ended_with(1)
            .complained(said)
            .complained(help);
    }
    let both = "        train: {uri: data}\n        masks: {uri: masks, draw_with: train}\n";
    let strangers = files(few(project(both)), "masks", ["x.png".to_owned()]);
    let words = strangers.run(&["plan", "--all"]).ended_with(1).words();
    for said in [
        "jobs.look.training.channels.masks.draw_with: no file of `masks` has the stem of one of `train`",
        "a stem is the path below the channel without the last extension",
    ] {
        assert!(words.contains(said), "{words}");
    }
    strangers.write("masks/3.png", "x");
    strangers
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported(
            "8 of the 9 files of channel train have no partner of the same stem in channel masks",
        )
        .reported(
            "1 of the 2 files of channel masks has no partner of the same stem in channel train",
        );
}

/// What a canary gets is the change's own, and is named beside the base's.
#[test]
fn a_pull_request_that_draws_otherwise_is_named() {
    const AGAINST_MAIN: [&str; 7] = [
        "run",
        "--all",
        "--quiet",
        "--base",
        "origin/main",
        "--format",
        "json",
    ];
    let project = project("        train: {uri: data}\n");
    let project = files(
        project,
        "data",
        (0..30).map(|index| format!("{index:02}.csv")),
    );
    let project = project
        .file(".gitignore", ".canary-gate/\nsaid.txt\n")
        .committed();
    let main = "refs/remotes/origin/main";
    project.git(&["update-ref", main, "HEAD"]);
    project.git(&["symbolic-ref", "refs/remotes/origin/HEAD", main]);
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("uri: data", "uri: data, order: last"),
    );
    project.commit("the newest alone");
    let report = project.run(&AGAINST_MAIN).ended_with(0).json();
    let notes = report["jobs"][0]["policy"]["notes"].to_string();
    let said = "changes `training.channels.train.draw` from random to {order: last}.";
    assert!(notes.contains(said), "{notes}");
    // Renamed, it is another one.
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("train: {uri", "newest: {uri"),
    );
    project.commit("by another name");
    let report = project.run(&AGAINST_MAIN).json();
    let notes = report["jobs"][0]["policy"]["notes"].to_string();
    let said = "changes `training.channels.newest.draw` from none to {order: last}.";
    assert!(notes.contains(said), "{notes}");
}

#[test]
fn small_shares_of_many_folders_are_the_same_files_and_that_is_said() {
    let project = project("        train: {uri: data, by: folder}\n");
    let names = (0..30).flat_map(|class| (0..2).map(move |file| format!("{class:02}/{file}.csv")));
    let project = files(project, "data", names);
    let words = project.run(&["plan", "--all"]).ended_with(2).words();
    let said = "with `by: folder` channel `train` draws at least 30 files";
    assert!(words.contains(said), "{words}");
}
