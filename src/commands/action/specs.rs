//! The specs that the input `spec` names: one by its path, or many by patterns, which are looked for in the commit that is checked
//! out and where the change left its base.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use crate::change::{Change, affected_jobs};
use crate::cli::SpecArguments;
use crate::code::{PathGlobs, PathKind, Tree};
use crate::commands::run::Checked;
use crate::console::{AppError, AppResult, files, printable};
use crate::units::Usd;
use crate::workspace::base_policy::{self, CAP_OF_NEW_JOBS};
use crate::workspace::written_spec::{self, folder_of};
use crate::workspace::{Project, checkout};

use super::inputs::{CommentPolicy, Inputs, are_many, is_pattern};
use super::parts::start_of;
use super::trigger::{self, Trigger};

/// The specs of a step. Of a single path nothing but that is known.
#[derive(Default)]
pub(super) struct Specs {
    /// From the workspace.
    pub(super) all: Vec<SpecArguments>,
    pub(super) are_many: bool,
    /// What our comments on the pull request are about.
    pub(super) commented: BTreeSet<String>,
    /// What the input means; nothing for a single path.
    globs: PathGlobs,
    /// From the workspace to the checkout that patterns look into.
    root: PathBuf,
    head: Arc<Tree>,
    /// Where the change left its base; the head itself where there is no base.
    before: Arc<Tree>,
    /// Specs that the change adds or takes away, from the checkout's root.
    moved: Vec<PathBuf>,
    /// What counts against `max-spend` so far, and of that against the cap of jobs that the base does not know.
    spent: Cell<[Usd; 2]>,
}

impl Specs {
    /// Looks for the specs. `sha` stands for the commit where the checkout names none.
    pub(super) async fn find(trigger: &Trigger, inputs: &Inputs, sha: &str) -> AppResult<Self> {
        let mut found = Self {
            are_many: are_many(&inputs.specs),
            ..Self::default()
        };
        if !found.are_many {
            let spec = inputs.specs.first().map(PathBuf::from);
            found.all = vec![SpecArguments { spec }];
            return Ok(found);
        }
        let mut all = found.look(trigger, &inputs.specs, sha).await?;
        let is_commented = inputs.comment != CommentPolicy::Off;
        if let Some(one) = trigger.pull_request().filter(|_| is_commented) {
            let subjects = trigger.github.subjects(one.number).await;
            found.commented = subjects.unwrap_or_default();
            // Of a spec that is not there any more the comment is brought up to date.
            let subjects = found.commented.iter().filter(|one| !is_pattern(one));
            all.extend((subjects.map(PathBuf::from)).filter(|path| found.globs.matches(path)));
        }
        let named = |path| SpecArguments { spec: Some(path) };
        found.all = all.into_iter().map(named).collect();
        Ok(found)
    }

    /// What the patterns match, from the workspace. Each must match a file, there or where the change left its base.
    async fn look(
        &mut self,
        trigger: &Trigger,
        patterns: &[String],
        sha: &str,
    ) -> AppResult<BTreeSet<PathBuf>> {
        let workspace = files::current_folder()?;
        let start = workspace.join(start_of(patterns[0].trim_start_matches(['!', '/'])));
        let root = checkout::root_of(&start, &workspace).ok_or_else(trigger::no_checkout)?;
        let commit = checkout::checked_out_commit(&root).unwrap_or_else(|| sha.to_owned());
        trigger.refuse_another_commit(Some(&commit)).await?;
        self.root = root.strip_prefix(&workspace).unwrap_or(&root).to_owned();
        self.head = trigger.github.tree(&commit).await?;
        self.before = match trigger.base(Some(&commit)).await? {
            Some(base) => trigger.github.tree(&base.left).await?,
            None => self.head.clone(),
        };
        let files = self.head.files().iter().chain(self.before.files());
        let files = files.filter(|file| file.kind != PathKind::Submodule);
        let paths: BTreeSet<&PathBuf> = files.map(|file| &file.path).collect();
        let matched = |patterns: &[String]| {
            let globs = PathGlobs::new(patterns, "");
            let is_matched = |path: &&&PathBuf| globs.matches(self.root.join(path));
            let matched: Vec<&PathBuf> = paths.iter().filter(is_matched).copied().collect();
            (matched, globs)
        };
        let mut positive = patterns.iter().filter(|one| !one.starts_with('!'));
        if let Some(idle) = positive.find(|one| matched(slice::from_ref(one)).0.is_empty()) {
            let idle = printable(idle);
            let what = format!("`spec`: no file of the checkout matches `{idle}`");
            return Err(AppError::usage(what)
                .help("patterns are from the workspace, and `**` stands for folders: `spec: \"**/canary-gate.yml\"`")
                .during("looking for specs"));
        }
        let (found, globs) = matched(patterns);
        let is_in = |tree: &Tree, path: &Path| tree.get(path).is_some();
        let is_moved = |path: &&&PathBuf| is_in(&self.head, path) != is_in(&self.before, path);
        self.moved = found.iter().filter(is_moved).copied().cloned().collect();
        self.globs = globs;
        Ok(found.iter().map(|path| self.root.join(path)).collect())
    }

    /// That a spec which is not there any more leaves nothing to judge, a sentence: its folder is gone with it, or it was never on the
    /// base. What a change leaves of the folder would be judged by nothing.
    pub(super) fn is_over(&self, spec: &SpecArguments) -> Option<String> {
        let path = spec.spec.as_ref().filter(|path| self.globs.matches(path))?;
        let inside = path.strip_prefix(&self.root).ok()?;
        if self.head.get(inside).is_some() || written_spec::is_there(spec) {
            return None;
        }
        let folder = folder_of(inside);
        // A link or a submodule may stand in its place.
        // What else changes may be code of this one, but where a spec comes with its folder, or goes with it: it may have been moved to
        // where no other spec judges it.
        let moved = self.moved.iter().filter_map(|spec| spec.parent());
        let folders: Vec<&Path> = moved.filter(|it| *it != Path::new("")).collect();
        let is_in_one = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
        let is_left = !self.head.below(folder).is_empty()
            || folder.ancestors().any(|one| self.head.get(one).is_some())
            || !self.head.differing(&self.before).iter().all(is_in_one);
        Some(match self.before.get(inside).is_some() {
            true if is_left => return None,
            true => "This pull request removes the spec and all of its folder, so nothing of it is checked.".to_owned(),
            false => "The pull request has no such spec any more, so nothing of it is checked.".to_owned(),
        })
    }

    /// The place of the base's spec that became the one at `place`, see [`base_policy::moved_from`].
    pub(super) fn moved_from(&self, place: &str) -> AppResult<Option<String>> {
        base_policy::moved_from(place, &self.moved, &self.before, &self.head)
    }

    /// What is left of these limits: of all that specs before this one have spent, and of what they have for jobs that are new.
    pub(super) fn left(&self, max_spend: Option<Usd>) -> (Option<Usd>, Usd) {
        let [all, new] = self.spent.get();
        let less = |most: Usd, spent: Usd| Usd((most - spent).0.max(0.0));
        let max_spend = max_spend.map(|most| less(most, all));
        (max_spend, max_spend.unwrap_or(less(CAP_OF_NEW_JOBS, new)))
    }

    /// What a spec has spent is not left for those after it.
    pub(super) fn spend(&self, checked: &Checked) {
        let ([all, new], Some(project)) = (self.spent.get(), &checked.project) else {
            return;
        };
        let base = project.policy.base.as_ref();
        let mut jobs = project.spec.jobs.iter();
        let has_new = jobs.any(|job| base.is_none_or(|base| base.job(&job.name).is_none()));
        let of_new = Some(checked.committed).filter(|_| has_new);
        let new = new + of_new.unwrap_or_default();
        self.spent.set([all + checked.committed, new]);
    }
}

/// Whether a change touches no job of a spec, nor its policy.
pub(super) fn is_untouched(project: &Project, change: &Change) -> bool {
    // Who checks it says why.
    let Ok(code) = project.listed_code() else {
        return false;
    };
    let base = project.policy.base.as_ref();
    let affected = affected_jobs(&project.spec, &project.place, base, change, &code);
    affected.is_empty() && project.policy.is_as_on_the_base()
}
