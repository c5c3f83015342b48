//! Which jobs a change touches.

use std::os::unix::fs::symlink;

use crate::project::Project;

/// Two jobs with globs of their own, committed, with `main` as what `origin/main` would be.
fn two_jobs() -> Project {
    let spec = "\
version: 1
backend: local
jobs:
  first:
    paths: [first/**, '!**/*.md']
    training: {command: [sh, train.sh], source_dir: first, channels: {train: {uri: data}}}
    instance: local
  second:
    paths: [second/**, /shared/**]
    training: {command: [sh, train.sh], source_dir: second, channels: {train: {uri: data}}}
    instance: local
";
    let project = Project::empty()
        .file("canary-gate.yml", spec)
        .file("first/train.sh", "true")
        .file("second/train.sh", "true")
        .data("data", 100)
        .committed();
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    project
}

/// Each row: what is changed, what is asked, the code, what is said, each between slashes, and what is not.
const CHANGES: &str = "
echo hello > README.md | run | 0 | no job is affected: 1 file changed from origin/main to the work tree |
true | run | 0 | no job is affected: nothing changed from origin/main to the work tree |
touch first/new.py | plan | 0 | first · canaries chosen one by one on local, because first/new.py changed | second ·
touch first/notes.md | plan | 0 | no job is affected |
echo '# a remark' >> canary-gate.yml | plan | 0 | first · // second · |
true | plan --all --job second | 0 | second · | first ·
true | plan --all --job third | 2 | the spec has no job `third` // its jobs are first, second |
printf './second/train.sh\\n\\nfirst/notes.md\\n' > changed.txt | plan --changed-files changed.txt | 0 | second · | first ·
true | plan --base origin/release | 1 | git has no commit `origin/release`: it is not in this clone // the branches of this clone are main, origin/main; fetch another one first: `git fetch origin release` |
true | plan --base=--output=/tmp/x | 2 | is not a git reference |
true | plan --base no-such-branch | 1 | git has no commit `no-such-branch` // fetch-depth: 0 |
git branch change; touch first/new.py; git add .; git -c user.name=T -c user.email=t@example.invalid commit --quiet -m on | run --base main --head change | 2 | `--head change` is not what is checked out here |
git sparse-checkout set first data; test ! -e second/train.sh | plan | 0 | no job is affected: nothing changed |
";

#[test]
fn which_jobs_a_change_touches_is_said() {
    for row in CHANGES.lines().filter(|line| line.contains('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [edit, asked, code, said, unsaid] = cells[..] else {
            panic!("{row}")
        };
        let project = two_jobs();
        project.shell(edit).ended_with(0);
        let asked: Vec<&str> = asked.split(' ').collect();
        let found = project.run(&asked).ended_with(code.parse().unwrap());
        let text = found.seen();
        assert!(
            said.split(" // ").all(|said| text.contains(said)),
            "{row}\n{text}"
        );
        assert!(unsaid.is_empty() || !text.contains(unsaid), "{row}\n{text}");
    }
}

#[test]
fn references_compare_commits_from_their_fork() {
    let project = two_jobs();
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.write("shared/features.py", "");
    project.commit("change shared");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("first/later.py", "");
    project.commit("main goes on");
    let planned = project.run(&["plan", "--base", "main", "--head", "change"]);
    let because =
        "second · canaries chosen one by one on local, because shared/features.py changed";
    let planned = planned.ended_with(0).reported(because);
    assert!(!planned.stdout.contains("first ·"), "{}", planned.seen());
}

#[test]
fn a_list_is_read_as_git_writes_it() {
    let project = two_jobs();
    for line in [
        "\u{feff}second/train.sh",
        "\"second/mod\\303\\250le.py\"",
        "\"second/a\\tb\\\"c.py\"",
        "first/../second/train.sh",
    ] {
        project.write("changed.txt", line);
        project
            .run(&["plan", "--changed-files", "changed.txt"])
            .ended_with(0)
            .reported("second ·");
    }
    for line in [
        "M\tsecond/train.sh",
        " second/train.sh | 3 +-",
        "\"second/\\9\"",
    ] {
        project.write("changed.txt", line);
        project
            .run(&["plan", "--changed-files", "changed.txt"])
            .ended_with(2)
            .complained("is not a path")
            .complained("git diff --name-only --no-renames");
    }
}

#[test]
fn without_git_everything_counts() {
    let project = Project::with_script("true");
    project
        .run(&["plan"])
        .ended_with(0)
        .reported("sums · 6 canaries on local")
        .reported("every job counts as changed: there is no git checkout here");
}

#[test]
fn a_head_needs_a_base() {
    let project = Project::with_script("true").committed();
    project
        .run(&["plan", "--head", "HEAD"])
        .ended_with(2)
        .complained("there is no origin to compare `HEAD` with");
}

/// Adds a repository with a file as a submodule.
fn with_submodule(project: &Project, path: &str) {
    let library = Project::empty().file("lib.py", "1").committed();
    let source = library.root().display().to_string();
    let allowed = ["-c", "protocol.file.allow=always"];
    project.git(
        &[
            &allowed[..],
            &["submodule", "--quiet", "add", &source, path],
        ]
        .concat(),
    );
}

#[test]
fn a_changed_submodule_concerns_the_job_that_names_its_folder_or_what_is_in_it() {
    for paths in [
        "vendor/lib/**",
        "vendor/lib",
        "vendor/lib/*.py",
        "vendor/*/lib.py",
    ] {
        let project = Project::with_script("true").committed();
        with_submodule(&project, "vendor/lib");
        let paths = format!("    paths: [train.sh, {paths}]\n    training:\n");
        let spec = Project::SPEC.replace("    training:\n", &paths);
        project.write("canary-gate.yml", &spec);
        project.commit("a submodule");
        project.git(&["branch", "base"]);
        project.write("vendor/lib/lib.py", "2");
        project
            .run(&["plan", "--base", "base"])
            .ended_with(0)
            .reported("because vendor/lib/lib.py changed");
        project.git(&["-C", "vendor/lib", "checkout", "--quiet", "."]);
        let commit = ["-C", "vendor/lib", "commit", "--quiet", "--allow-empty"];
        project.git(&[&commit[..], &["--message", "more"]].concat());
        let is_seen = || {
            let planned = project.run(&["plan", "--base", "base"]).ended_with(0);
            planned.reported("because vendor/lib/ changed");
        };
        is_seen();
        // As where submodules are not fetched.
        project.commit("the pointer alone");
        project.git(&["submodule", "--quiet", "deinit", "--force", "vendor/lib"]);
        is_seen();
    }
}

/// A program that leaves a trace where anything starts it.
fn tripwire(project: &Project) -> String {
    let trace = project.path(".git/started");
    let script = project.path(".git/tripwire");
    let text = format!("#!/bin/sh\necho \"$@\" >> {}\ncat\n", trace.display());
    std::fs::write(&script, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    script.display().to_string()
}

#[test]
fn no_program_of_a_checkouts_configuration_is_started() {
    let project = two_jobs();
    let program = tripwire(&project);
    for (key, value) in [
        ("filter.odd.name.clean", program.as_str()),
        ("filter.odd.name.smudge", &program),
        ("filter.odd.name.required", "true"),
        ("core.fsmonitor", &program),
        ("diff.external", &program),
        ("diff.odd.textconv", &program),
        (
            "core.hooksPath",
            &project.path(".git").display().to_string(),
        ),
    ] {
        project.git(&["config", key, value]);
    }
    project.write(".git/info/attributes", "* filter=odd.name diff=odd\n");
    // As it was, but git has not seen it since.
    project.write("second/train.sh", "true");
    project.write("first/train.sh", "true # more");
    let planned = project.run(&["plan"]).ended_with(0);
    let planned = planned
        .reported("first · canaries chosen one by one on local, because first/train.sh changed");
    assert!(!planned.stdout.contains("second ·"), "{}", planned.seen());
    let started = std::fs::read_to_string(project.path(".git/started"));
    assert!(started.is_err(), "{started:?}");
}

#[test]
fn the_callers_variables_choose_no_repository_and_no_program() {
    let project = two_jobs();
    let program = tripwire(&project);
    project.write(".git/info/attributes", "* filter=odd\n");
    project.write("first/train.sh", "true # more");
    for (name, value) in [
        ("GIT_DIR", "/nowhere"),
        ("GIT_COMMON_DIR", "/nowhere"),
        ("GIT_OBJECT_DIRECTORY", "/nowhere"),
        ("GIT_INDEX_FILE", "/nowhere"),
        ("GIT_ATTR_SOURCE", "nothing"),
        ("GIT_EXTERNAL_DIFF", program.as_str()),
        ("GIT_TRACE", &project.path("trace").display().to_string()),
        (
            "GIT_CONFIG_PARAMETERS",
            &format!("'filter.odd.clean={program}'"),
        ),
    ] {
        let planned = project.run_with(&["plan"], |command| {
            command.env(name, value);
            command.env("GIT_CONFIG_COUNT", "1");
            command.env("GIT_CONFIG_KEY_0", "filter.odd.clean");
            command.env("GIT_CONFIG_VALUE_0", &program);
        });
        planned
            .ended_with(0)
            .reported("because first/train.sh changed");
        assert!(!project.path(".git/started").exists(), "{name}");
        assert!(!project.path("trace").exists(), "{name}");
    }
}

#[test]
fn a_file_of_git_lfs_is_compared_with_its_pointer() {
    let project = two_jobs();
    // The pointer of `true`, as a commit has it.
    let digest = "b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b";
    let write = |content: &str| std::fs::write(project.path("second/train.sh"), content).unwrap();
    write(&format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 4\n"
    ));
    project.commit("with LFS");
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(&["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
    write("true");
    project
        .run(&["plan"])
        .ended_with(0)
        .reported("no job is affected");
    write("fake");
    project
        .run(&["plan"])
        .ended_with(0)
        .reported("because second/train.sh changed");
}

/// The checkout of the commit has what git would make of the base's blob, and the commit has another blob.
#[test]
fn what_a_commit_has_otherwise_is_changed_whatever_git_makes_of_the_base() {
    let project = two_jobs();
    let main = |text: &str| {
        project.write("second/train.sh", text);
        project.commit("the base");
        project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    };
    let digest = "b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b";
    main(&format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 4\n"
    ));
    project.write("second/train.sh", "true");
    project.commit("the content in place of its pointer");
    let changed = "because second/train.sh changed";
    project.run(&["plan"]).ended_with(0).reported(changed);

    project.write(".gitattributes", "* text=auto\n");
    main("one\ntwo\n");
    project.write("second/train.sh", "one\r\ntwo\r\n");
    let raw = "git hash-object -w --no-filters second/train.sh";
    let script = format!("git update-index --cacheinfo 100644,$({raw}),second/train.sh");
    project.shell(&script).ended_with(0);
    project.git(&["commit", "--quiet", "--message", "line ends"]);
    project.run(&["plan"]).ended_with(0).reported(changed);
}

#[test]
fn a_change_cannot_hide_a_submodule() {
    let project = two_jobs();
    with_submodule(&project, "first/lib");
    project.commit("a submodule");
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(&[
        "config",
        "--file",
        ".gitmodules",
        "submodule.first/lib.ignore",
        "all",
    ]);
    project.write("first/lib/lib.py", "2");
    project
        .run(&["plan"])
        .ended_with(0)
        .reported("first · canaries chosen one by one on local, because first/lib/lib.py changed");
}

/// A job in a folder whose links lead to another one, committed as `base`.
fn linked(spec_of_job: &str) -> Project {
    let spec = format!(
        "version: 1\nbackend: local\njobs:\n  sums:\n{spec_of_job}    training: {{command: [sh, train.sh], source_dir: job, channels: {{train: {{uri: data}}}}}}\n    instance: local\n"
    );
    let project = Project::empty()
        .file("canary-gate.yml", &spec)
        .file("job/train.sh", "true")
        .file("shared/deep/x.py", "1")
        .file("shared/one.py", "1")
        .file("shared/notes.md", "1")
        .data("data", 100);
    symlink("../shared", project.path("job/lib")).unwrap();
    symlink("lib/one.py", project.path("job/one.py")).unwrap();
    symlink("nowhere/yet.py", project.path("job/later.py")).unwrap();
    let project = project.committed();
    project.git(&["branch", "base"]);
    project
}

#[test]
fn what_links_of_the_source_lead_to_concerns_the_job() {
    let paths = "    paths: ['job/**', '!**/*.md']\n";
    for (path, edit) in [
        ("shared/one.py", "echo 2 > shared/one.py"),
        ("shared/deep/new.py", "echo 1 > shared/deep/new.py"),
        ("shared/deep/x.py", "rm shared/deep/x.py"),
        ("job/lib/", "rm job/lib"),
        (
            "job/nowhere/yet.py",
            "mkdir job/nowhere; echo 1 > job/nowhere/yet.py",
        ),
    ] {
        let project = linked(paths);
        project.shell(edit).ended_with(0);
        project
            .run(&["plan", "--base", "base"])
            .ended_with(0)
            .reported(&format!("because {path} changed"));
        project.write("changed.txt", path.trim_end_matches('/'));
        let listed = project.run(&["plan", "--changed-files", "changed.txt"]);
        assert!(
            !listed.stdout.contains("no job is affected"),
            "{path}: {}",
            listed.seen()
        );
    }
    let project = linked(paths);
    project.write("shared/notes.md", "2");
    project
        .run(&["plan", "--base", "base"])
        .ended_with(0)
        .reported("no job is affected: 1 file changed");
}

#[test]
fn line_ends_that_git_writes_are_no_change_and_attributes_that_a_change_writes_are() {
    let project = two_jobs();
    project.write("second/train.sh", "one\ntwo\n");
    project.commit("lines");
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(&["config", "core.autocrlf", "true"]);
    project.write("second/train.sh", "one\r\ntwo\r\n");
    let plan = || project.run(&["plan"]).ended_with(0);
    plan().reported("no job is affected");
    project.git(&["config", "core.autocrlf", "false"]);
    project.write(".gitattributes", "*.sh eol=crlf\n");
    plan().reported("because second/train.sh changed");
}
