//! A canary whose script opens no file of its sample says nothing of the full run, whatever it took.

use crate::project::Project;

/// A job that is far within its budget, and whose data lie in the source too, as a careless script finds them.
fn with_script(script: &str) -> Project {
    let spec = Project::SPEC.replace(
        "command: [sh, train.sh]",
        "command: [sh, job.sh]\n      source_dir: code",
    );
    Project::empty()
        .file("code/job.sh", script)
        .data("code/images", 5)
        .data("data", 100)
        .file(
            "canary-gate.yml",
            &format!("{spec}    budget: {{time: 1h}}\n"),
        )
}

#[test]
fn a_script_that_reads_other_data_is_never_within() {
    let project = with_script("");
    let elsewhere = format!("cat {}/* | wc -c\n", project.path("data").display());
    for script in [
        "sleep 0.1\n",
        "cat images/* | wc -c\n",
        "ls -lR $SM_CHANNEL_TRAIN; cat images/*\n",
        &elsewhere,
    ] {
        project.write("code/job.sh", script);
        let cure = "et the script read its data below the folder in `SM_CHANNEL_TRAIN`";
        project
            .run(&["check", "--try"])
            .ended_with(13)
            .reported("opened no file of its sample")
            .reported(cure);
        let run = project
            .run(&["run", "--all", "--fresh"])
            .ended_with(14)
            .reported("canary opened no file of its sample");
        let words = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(cure), "{script}: {words}");
        assert!(!run.stdout.contains("likely"), "{script}: {}", run.stdout);
        // One is enough to see it.
        assert_eq!(
            project.recorded("canary").last().unwrap()["sample_opened"],
            false
        );
    }
    // Nor is a job without a budget not judged.
    project.write(
        "canary-gate.yml",
        &project
            .read("canary-gate.yml")
            .replace("    budget", "    # budget"),
    );
    project.run(&["run", "--all"]).ended_with(14);
    // It is no accident that passes another time.
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("jobs:", "on_inconclusive: pass\njobs:"),
    );
    project.run(&["run", "--all"]).ended_with(14);
    // What such canaries gave is no part of a law.
    project
        .run(&["history", "export", "--output", "canaries.jsonl"])
        .ended_with(0);
    project
        .run(&["forecast", "canaries.jsonl"])
        .reported("canary opened no file of its sample");
}

#[test]
fn a_sample_that_is_read_in_any_way_is_read() {
    for script in [
        "sh -c 'cat $SM_CHANNEL_TRAIN/*' | wc -c\n",
        "cat /opt/ml/input/data/train/* ../ml/input/data/train/* | wc -c\n",
        "ln -s $SM_CHANNEL_TRAIN linked; cat linked/* | wc -c\n",
        "python3 -c 'import glob, mmap\nfor name in glob.glob(\"../ml/input/data/train/*\"):\n  with open(name) as file: mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:]'\n",
    ] {
        let project = with_script(script);
        project.run(&["check", "--try"]).ended_with(0);
        project.run(&["run", "--all"]).ended_with(0);
        assert_eq!(
            project.recorded("canary")[0]["sample_opened"],
            true,
            "{script}"
        );
    }
}
