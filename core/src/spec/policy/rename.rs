//! Jobs that a change renames: a new name must not shake off the policy of the old one.

use crate::spec::{BackendKind, Job, Override, Spec};

/// A job under a new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedJob {
    /// Its name in the base, where the head has no such job.
    pub from: String,
    /// Its name in the head, which the base does not know.
    pub to: String,
    /// What both have: `source_dir`, `paths`, or the `uri` of a channel.
    shared: &'static str,
}

impl RenamedJob {
    /// Whose policy counts, and why.
    pub(super) fn note(&self) -> String {
        format!(
            "This job is not in the base. Its `{}` is that of job {}, which this pull request removes, so the policy of {} counts.",
            self.shared, self.from, self.from
        )
    }
}

/// The base with each job that the head renames under its new name too, and what was renamed.
///
/// A job of the head that the base does not know is a removed one of the base where it has its source, its paths or its data; of
/// several that one which has most in common with it.
pub fn follow_renames(head: &Spec, base: &Spec) -> (Spec, Vec<RenamedJob>) {
    let lacks = |spec: &Spec, job: &Job| spec.job(&job.name).is_none();
    let removed: Vec<&Job> = base.jobs.iter().filter(|job| lacks(head, job)).collect();
    let mut followed = base.clone();
    let mut renamed = Vec::new();
    if removed.is_empty() || head.backend != base.backend {
        return (followed, renamed);
    }
    for job in head.jobs.iter().filter(|job| lacks(base, job)) {
        let likest = (removed.iter().rev())
            .filter_map(|old| Some((likeness(head.backend, job, old)?, old)))
            .max_by_key(|((_, likeness), _)| *likeness);
        let Some(((shared, _), old)) = likest else {
            continue;
        };
        followed.jobs.push(Job {
            name: job.name.clone(),
            ..(*old).clone()
        });
        let is_own = |agreed: &&Override| agreed.job == old.name;
        let agreed = base.overrides.iter().filter(is_own).cloned();
        followed.overrides.extend(agreed.map(|agreed| Override {
            job: job.name.clone(),
            ..agreed
        }));
        renamed.push(RenamedJob {
            from: old.name.clone(),
            to: job.name.clone(),
            shared,
        });
    }
    (followed, renamed)
}

/// What a job and a removed one share that makes them one, and how much they have in common.
fn likeness(backend: BackendKind, job: &Job, old: &Job) -> Option<(&'static str, usize)> {
    let has_source = |job: &Job| {
        let training = &job.training;
        training.source_dir.is_some()
            || training.sagemaker.entry_point.is_some()
            || backend.traits().runs_here
    };
    let (ours, theirs) = (&job.training, &old.training);
    let is_there = |uri: &str| theirs.channels.iter().any(|channel| channel.uri == uri);
    // Any of these is enough; the others tell which of several jobs has most in common.
    let of_source = has_source(job) && has_source(old) && source(job) == source(old);
    let of_paths = paths(job).iter().any(|path| paths(old).contains(path));
    let of_data = ours.channels.iter().any(|channel| is_there(&channel.uri));
    let shared = [
        ("source_dir", of_source),
        ("paths", of_paths),
        ("uri", of_data),
    ];
    let further = [
        ours.local == theirs.local,
        ours.sagemaker.entry_point == theirs.sagemaker.entry_point,
        ours.sagemaker.image == theirs.sagemaker.image,
        ours.channels == theirs.channels,
        ours.hyperparameters == theirs.hyperparameters,
        job.instance == old.instance,
    ];
    let (name, _) = shared.iter().find(|(_, is_same)| *is_same)?;
    let all = shared.iter().map(|(_, is_same)| *is_same).chain(further);
    Some((name, all.filter(|is_same| *is_same).count()))
}

/// The folder of its code; without one the spec's.
fn source(job: &Job) -> String {
    plain(job.training.source_dir.as_deref().unwrap_or_default())
}

/// What it includes.
fn paths(job: &Job) -> Vec<String> {
    let included = job.paths.iter().filter(|path| !path.starts_with('!'));
    included.map(|path| plain(path)).collect()
}

/// One spelling for all of `job`, `./job/`, `/job` and `job/.`: where the spec lies at the root they are one folder.
fn plain(path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.collect::<Vec<_>>().join("/")
}
