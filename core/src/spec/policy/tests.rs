use proptest::prelude::*;

use super::*;
use crate::spec::field::Whose;
use crate::spec::read;

const CAP: Usd = Usd(5.0);

/// What every spec of the cases begins with.
const SPEC: &str = "\
version: 1
backend: sagemaker
jobs:
  churn:
    training: {image: image, role: arn:aws:iam::123456789012:role/Training, channels: {train: {uri: s3://data/churn/}}, output: s3://output/}
    instance: ml.m5.xlarge
";

fn spec(text: &str) -> Spec {
    read("canary-gate.yml", text.as_bytes(), &[])
        .unwrap_or_else(|errors| panic!("{}\n{text}", errors.render(false, 100)))
}

fn applied(head: &Spec, base: &Spec) -> (Spec, PolicyChanges) {
    apply_base_policy(head, Some(base), CAP, &|_| false).unwrap()
}

/// The spec of one side of a case, by its lines: `base   KEY` and `head   KEY` are keys of the job, `base > KEY` of the file, and
/// `base ~ OLD => NEW` changes what there is. `both` stands for either side.
fn side(case: &str, side: &str) -> Spec {
    let lines = || {
        let lines = case.lines().filter_map(|line| line.split_once(' '));
        lines.filter(move |(whose, _)| [side, "both"].contains(whose))
    };
    let mut text = SPEC.to_owned();
    for (_, change) in lines() {
        if let Some((old, new)) = change
            .strip_prefix("~ ")
            .and_then(|it| it.split_once(" =>"))
        {
            assert!(text.contains(old), "{old}\nis not in\n{text}");
            text = text.replacen(old, new.trim_start(), 1);
        }
    }
    for (sign, indent) in [("  ", "    "), ("> ", "")] {
        let keys = lines().filter_map(|(_, key)| key.strip_prefix(sign));
        text.extend(keys.map(|key| format!("{indent}{key}\n")));
    }
    spec(&text)
}

/// The fields of a spec and of its first job, as path and words.
fn all_fields(spec: &Spec) -> Vec<(String, String, Whose)> {
    let agreed = Override::fields(&spec.overrides, &spec.jobs[0].name);
    let job = fields_of(&spec.jobs[0]).into_iter().chain(agreed);
    let all = fields_of(spec).into_iter().chain(job);
    all.map(|it| (it.path, it.words, it.rule.whose)).collect()
}

/// What is said of a change, and whose the fields are in which the two specs differ.
fn said(head: &Spec, base: &Spec) -> String {
    let (spec, notes) = match apply_base_policy(head, Some(base), CAP, &|_| false) {
        Ok(applied) => applied,
        Err(BasePolicyError::NotAllowed(errors)) => {
            let problems = errors.problems.iter().map(ToString::to_string);
            return format!("refused: {}", Vec::from_iter(problems).join("; "));
        }
        Err(error) => return format!("refused: {error}"),
    };
    let mut said = notes.notes.clone();
    let mut add = |what: &str, all: &[String]| {
        said.extend(all.iter().map(|one| format!("{what}{one}")));
    };
    for (job, notes) in &notes.job_notes {
        add(&format!("{job}: "), notes);
    }
    for (job, notes) in &notes.uncompared_notes {
        add(&format!("{job}, without a record: "), notes);
    }
    add("removed: ", &notes.removed_jobs);
    let lines = spec.jobs[0].budget.lines.iter();
    let lines =
        lines.map(|line| format!("{} {} ({:?})", line.kind, line.limit_words(), line.origin));
    add("line: ", &lines.collect::<Vec<_>>());
    let (own, bases) = (all_fields(head), all_fields(base));
    let merged = all_fields(&spec);
    let differing = own.iter().filter(|field| !bases.contains(field));
    let (heads, others): (Vec<_>, Vec<_>) = differing.partition(|field| merged.contains(field));
    let paths = |fields: Vec<&(String, String, Whose)>| -> Vec<String> {
        fields.into_iter().map(|(path, ..)| path.clone()).collect()
    };
    add("the head's: ", &paths(heads));
    add("not the head's: ", &paths(others));
    said.join("\n")
}

#[test]
fn each_change_of_policy_is_said_and_counts_as_its_case_shows() {
    let cases = include_str!("testdata/cases.txt").trim_end().split("\n\n");
    let shown = cases.map(|case| {
        format!(
            "{case}\n{}\n",
            said(&side(case, "head"), &side(case, "base"))
        )
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_renamed_job_is_the_removed_one_that_it_has_most_in_common_with() {
    let job = |name: &str, more: &str, cost: u32| {
        format!(
            "  {name}:\n    training: {{image: image, role: arn:aws:iam::123456789012:role/T, output: s3://output/, channels: {{train: {{uri: s3://data/}}}}{more}}}\n    instance: ml.m5.xlarge\n    paths: [{name}/**, common/**]\n    budget: {{cost: {cost} USD}}\n"
        )
    };
    let all = |jobs: &[String]| {
        spec(&format!(
            "version: 1\nbackend: sagemaker\njobs:\n{}",
            jobs.concat()
        ))
    };
    let source = |folder: &str| format!(", entry_point: train.py, source_dir: {folder}");
    let base = all(&[
        job("a", &source("a"), 1),
        job("b", &source("b/"), 2),
        job("kept", &source("k"), 3),
    ]);
    let head = all(&[job("c", &source("./b"), 9), job("kept", &source("k"), 3)]);
    let policy = applied(&head, &base);
    let limit = |(spec, _): &(Spec, PolicyChanges)| spec.jobs[0].budget.lines[0].limit_words();
    let is_new =
        |(_, notes): &(Spec, PolicyChanges)| notes.job_notes["c"][0].contains("own policy");
    assert_eq!(limit(&policy), "2 USD");
    assert_eq!(policy.1.removed_jobs, ["a"]);
    assert!(!is_new(&policy));
    // However the folder is spelled.
    for spelled in ["/b", "b/.", "b//", ".//b"] {
        let head = all(&[job("c", &source(spelled), 9), job("kept", &source("k"), 3)]);
        assert_eq!(limit(&applied(&head, &base)), "2 USD", "{spelled}");
    }
    // By paths where the source is another, and not at all where both are.
    let elsewhere = all(&[job("c", &source("c"), 9), job("kept", &source("k"), 3)]);
    assert_eq!(limit(&applied(&elsewhere, &base)), "1 USD");
    let text = job("c", &source("c"), 9).replace(", common/**", "");
    // Nor does other code of another place shake the old limits off the same data.
    let same_data = applied(&all(std::slice::from_ref(&text)), &base);
    assert_eq!(limit(&same_data), "1 USD");
    assert!(!is_new(&same_data));
    let new = applied(&all(&[text.replace("s3://data/", "s3://other/")]), &base);
    assert_eq!(limit(&new), "9 USD");
    assert!(is_new(&new));
    // A copy of a job that stays is a new one.
    let copy = all(&[
        job("c", &source("a"), 9),
        job("a", &source("a"), 1),
        job("b", &source("b"), 2),
        job("kept", "", 3),
    ]);
    assert_eq!(limit(&applied(&copy, &base)), "9 USD");
}

/// More jobs are no way to more money.
#[test]
fn jobs_that_the_base_does_not_know_share_the_cap() {
    let (_, job) = SPEC.split_once("jobs:\n").unwrap();
    let two = format!("{SPEC}{}", job.replace("churn:", "churn2:"));
    let (spec, _) = apply_base_policy(&spec(&two), None, CAP, &|_| false).unwrap();
    let jobs = spec.jobs.iter();
    let limits: Vec<Usd> = jobs.map(|job| job.canary.spend_limit).collect();
    assert_eq!(limits, [Usd(2.5), Usd(2.5)]);
}

#[test]
fn without_a_base_every_job_is_capped_and_nothing_else_changes() {
    let head = spec(&format!(
        "{SPEC}    canary: {{spend_limit: 3 USD}}\nstrict: true\n"
    ));
    let (own, notes) = apply_base_policy(&head, None, CAP, &|_| false).unwrap();
    assert_eq!(own, head);
    assert_eq!(
        notes.job_notes["churn"],
        [
            "This job is not in the base, so this pull request's own policy applies; its canaries may cost at most 3 USD."
        ]
    );
    // More than the cap is had by another cap or a base, not by a higher limit of its own.
    let (asks_all, _) = apply_base_policy(&spec(SPEC), None, CAP, &|_| false).unwrap();
    assert!(asks_all.jobs[0].is_capped);
}

#[test]
fn thousands_of_differences_are_counted() {
    let prices: String = (0..1000)
        .map(|index| format!("ml.m{index}.xlarge: 1 USD/h, "))
        .collect();
    let head = spec(&format!("{SPEC}prices: {{{prices}}}\n"));
    let notes = applied(&head, &spec(SPEC)).1.notes;
    assert_eq!(notes.len(), 41);
    assert_eq!(
        notes[40],
        "This pull request changes policy in 960 more places."
    );
}

/// Values of keys, as text of the file, behind where they stand: below `training`, `canary`, `budget`, the job and the file.
const VALUES: &str = include_str!("testdata/values.txt");

/// Any value of each policy field.
fn any_spec() -> impl Strategy<Value = Spec> {
    let lines = || {
        VALUES
            .lines()
            .map(|line| line.split(" | ").collect::<Vec<_>>())
    };
    prop::collection::vec(any::<prop::sample::Index>(), lines().count()).prop_map(move |chosen| {
        let of = |place: &str| {
            let chosen = lines().zip(&chosen).filter(|(line, _)| line[0] == place);
            let chosen = chosen.map(|(line, index)| *index.get(&line[1..]));
            let written: Vec<&str> = chosen.filter(|value| !value.is_empty()).collect();
            written.join(", ")
        };
        let (job, top) = (of("JOB"), of("TOP"));
        let [job, top] = [job, top].map(|keys| if keys.is_empty() { keys } else { keys + ", " });
        spec(&format!(
            "{{version: 1, backend: sagemaker, {top}jobs: {{{}: {{{job}training: {{image: image, \
             channels: {{train: {{uri: 's3://data/churn/'}}}}, {}}}, instance: ml.m5.xlarge, canary: {{{}}}, budget: {{{}}}}}}}}}\n",
            of("NAME"),
            of("TRAINING"),
            of("CANARY"),
            of("BUDGET"),
        ))
    })
}

proptest! {
    #[test]
    fn a_spec_under_its_own_policy_is_itself(spec in any_spec()) {
        let (applied, notes) = applied(&spec, &spec);
        prop_assert_eq!(&applied, &spec);
        prop_assert!(notes.notes.is_empty() && notes.job_notes.is_empty(), "{:?}", notes);
        prop_assert!(notes.removed_jobs.is_empty());
    }

    /// No policy of the head survives, and the change under test is the head's, by the rules that a test of the fields shows.
    #[test]
    fn each_field_is_whose_its_rule_says(head in any_spec(), base in any_spec()) {
        let (applied, _) = applied(&head, &base);
        let of = |spec: &Spec, is_policy: bool| -> Vec<_> {
            let fields = all_fields(spec).into_iter();
            fields.filter(|(.., whose)| (*whose == Whose::Base) == is_policy).collect()
        };
        prop_assert_eq!(of(&applied, false), of(&head, false));
        if applied.jobs[0].name == base.jobs[0].name {
            prop_assert_eq!(of(&applied, true), of(&base, true));
        }
        let is_implicit = |line: &&crate::spec::BudgetLine| {
            line.origin == crate::spec::LineOrigin::Implicit && line.kind.fixed_key() == "time"
        };
        for line in applied.jobs[0].budget.lines.iter().filter(is_implicit) {
            let own = head.jobs[0].training.max_runtime;
            prop_assert_eq!(Some(line.limit), own.map(crate::metric::Amount::from));
        }
    }
}
