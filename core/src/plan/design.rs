//! What a design may run: every canary of the fixed design, the sizes of the adaptive one. A run of the adaptive design is
//! drawn when it is chosen.

use crate::canary::{self, CanaryRun, ChannelData, Dataset, HandedShare, WorkLevel};
use crate::forecast::{FEWEST_RUNS, FEWEST_SIZES};
use crate::grammar::distinct;
use crate::instance::InstanceConfiguration;
use crate::rows::{RowBlocks, RowFile, RowFormat};
use crate::spec::{DrawRule, DrawUnit, Job};
use crate::units::{Fraction, Seconds, count_as_float};
use crate::verdict::Reason;

use super::pairs;
use super::sampling::{self, DrawSize};
use super::{LadderSize, PlanError, PlannedRuns, count, full_run};

/// With fewer objects the smallest shares are coarse.
const SOME_OBJECTS: usize = 100;

/// What the job's design may run on its `instance`, with notes on what is coarse or left out.
pub(super) fn runs(
    job: &Job,
    dataset: &Dataset,
    notes: &mut Vec<String>,
) -> Result<PlannedRuns, PlanError> {
    let sizes = match job.differs_in_work_alone() {
        true => Sizes::of_work(job),
        false => Sizes::of_data(job, dataset, notes)?,
    };
    match job.canary.design.replicates {
        Some(replicates) => {
            let runs = fixed(job, dataset, &sizes.all, replicates);
            sizes.check_enough(runs.len(), runs.len() >= FEWEST_RUNS)?;
            Ok(PlannedRuns::Fixed(runs))
        }
        None => {
            let sizes = sizes.without_all();
            // A size may be run again, so too few of them are no lack of runs.
            sizes.check_enough(sizes.all.len(), true)?;
            let of_size = |size: &DrawSize| {
                let run = draw(job, dataset, *size, 0);
                LadderSize {
                    fraction: run.fraction,
                    objects: run.objects,
                    bytes: run.bytes,
                    share: run.data_share(),
                }
            };
            Ok(PlannedRuns::Ladder(sizes.all.iter().map(of_size).collect()))
        }
    }
}

/// The sizes of a design, rising: of data, or levels of work in their place.
struct Sizes {
    all: Vec<DrawSize>,
    /// The objects of all of the data; 0 where the sizes are of work.
    total: usize,
    /// A channel of which each top folder keeps at least one object, so many in all: small fractions draw the same.
    folders: Option<(String, usize)>,
}

impl Sizes {
    fn of_work(job: &Job) -> Self {
        let levels = job.work.iter().flat_map(WorkLevel::of_canaries);
        let size = |level: WorkLevel| DrawSize {
            fraction: level.share(),
            objects: 0,
        };
        Self {
            all: levels.map(size).collect(),
            total: 0,
            folders: None,
        }
    }

    fn of_data(job: &Job, dataset: &Dataset, notes: &mut Vec<String>) -> Result<Self, PlanError> {
        let total = match &job.share {
            Some(share) => usize::try_from(share.full.parts()).unwrap_or(usize::MAX),
            None => sampled_objects(job, dataset)?,
        };
        if job.canary.joined {
            refuse_joined_tables(job, dataset)?;
            pairs::refuse_pairs(job, dataset)?;
        }
        draw_notes(dataset, notes);
        let drawn = dataset.smallest().filter(|_| job.share.is_none());
        let least = drawn.map_or(1, fewest_objects);
        let by_folder = drawn.filter(|_| least > 1);
        if let Some(channel) = by_folder.filter(|_| least >= total) {
            let why = format!(
                "every top folder of channel `{}` of job `{}` has one file, so with `by: folder` each canary would be all of the data",
                channel.name, job.name
            );
            return Err(PlanError::NoCanaries(Reason::new(why).advising(
                "remove `by: folder`, or put the files of a class into one folder at the top of the channel",
            )));
        }
        let folders = by_folder.map(|channel| (channel.name.clone(), least));
        let first = drawn.map_or(1, |channel| fewest_blocks(channel, total));
        let noun = match &job.share {
            Some(_) => "example",
            None => dataset.noun(),
        };
        // A fraction that would draw as many objects or examples as a smaller one is dropped.
        let fractions = &job.canary.design.fractions;
        let all = sampling::sizes(fractions, total, (first, least));
        if total < SOME_OBJECTS {
            notes.push(format!(
                "The data has only {total} {noun}s, so canaries are coarse: the smallest holds {}. 100 or more give better forecasts.",
                Fraction(share(all[0].objects, total)),
            ));
        }
        if all.len() < fractions.len() {
            notes.push(format!(
                "{} of {} fractions would draw as many {noun}s as a smaller one and are left out.",
                fractions.len() - all.len(),
                fractions.len(),
            ));
        }
        Ok(Self {
            all,
            total,
            folders,
        })
    }

    /// Those that the adaptive design may climb: the full run is no canary, unless there are too few others.
    fn without_all(mut self) -> Self {
        if self.all.len() > FEWEST_SIZES {
            let total = self.total;
            self.all.retain(|size| match total {
                0 => size.fraction.0 < 1.0,
                total => size.objects < total,
            });
        }
        self
    }

    fn check_enough(&self, runs: usize, are_runs_enough: bool) -> Result<(), PlanError> {
        if self.all.len() >= FEWEST_SIZES && are_runs_enough {
            return Ok(());
        }
        let (runs, sizes) = (count(runs, "run"), count(self.all.len(), "size"));
        let why = Reason::new(format!(
            "the design gives {runs} on {sizes}; a forecast needs at least {FEWEST_RUNS} runs on {FEWEST_SIZES} sizes"
        ));
        Err(PlanError::NoForecast(match &self.folders {
            Some((channel, least)) => why.advising(format!(
                "with `by: folder` channel `{channel}` draws at least {least} files, one of each top folder: write larger fractions, such as [20%, 40%, 60%], or remove `by: folder`"
            )),
            None => why.advising(
                "correct `canary.fractions` or `canary.replicates`: sizes that draw different numbers of objects, such as [1%, 5%, 20%]; or leave `canary.design` out",
            ),
        }))
    }
}

/// The level of work that a size of the design stands for, where canaries differ in their work alone.
pub fn level_of_size(job: &Job, fraction: Fraction) -> Option<WorkLevel> {
    let work = job.work.as_ref().filter(|_| job.differs_in_work_alone())?;
    WorkLevel::of_canaries(work).find(|level| level.share() == fraction)
}

/// Every run of the fixed design: each size at each level, then all of them again for each further replicate. So whatever ends
/// the canaries early leaves as many sizes as could be had.
fn fixed(job: &Job, dataset: &Dataset, sizes: &[DrawSize], replicates: u32) -> Vec<CanaryRun> {
    let levels = &levels_beside_data(job);
    let of_replicate = |replicate: u32| {
        sizes.iter().flat_map(move |size| {
            // The level has no part in the drawing: the same replicate of a size has the same objects at each.
            let run = draw(job, dataset, *size, replicate);
            levels.iter().map(move |level| CanaryRun {
                work: level.clone().or_else(|| run.work.clone()),
                ..run.clone()
            })
        })
    };
    (0..replicates).flat_map(of_replicate).collect()
}

/// Draws the run that the adaptive design chose. `earlier` are the sizes of the canaries of `instance` so far: their number gives the
/// work level, and how many had this size the replicate.
pub fn canary(
    job: &Job,
    dataset: &Dataset,
    instance: &InstanceConfiguration,
    size: &LadderSize,
    earlier: &[Fraction],
    max_runtime: Seconds,
) -> CanaryRun {
    let replicate = earlier.iter().filter(|other| **other == size.fraction);
    let replicate = u32::try_from(replicate.count()).unwrap_or(u32::MAX);
    let size = DrawSize {
        fraction: size.fraction,
        objects: usize::try_from(size.objects).unwrap_or(usize::MAX),
    };
    let drawn = draw(job, dataset, size, replicate);
    CanaryRun {
        instance: instance.clone(),
        max_runtime: Some(max_runtime),
        work: level(job, earlier.len()).or_else(|| drawn.work.clone()),
        ..drawn
    }
}

/// The work level of the adaptive design's next run after `earlier` ones; the levels take turns. `None` too where they are the
/// sizes.
pub fn level(job: &Job, earlier: usize) -> Option<WorkLevel> {
    let levels = levels_beside_data(job);
    levels.get(earlier % levels.len()).cloned().flatten()
}

/// Never empty; one `None` if the job has no levels, or they are the sizes.
pub(super) fn levels_beside_data(job: &Job) -> Vec<Option<WorkLevel>> {
    match job.work.as_ref().filter(|_| !job.differs_in_work_alone()) {
        Some(work) => WorkLevel::of_canaries(work).map(Some).collect(),
        None => vec![None],
    }
}

/// The fewest objects that a canary can have of a channel: one of each folder where that is asked for.
fn fewest_objects(channel: &ChannelData) -> usize {
    match channel.rule {
        DrawRule::Share {
            by: DrawUnit::Folder,
            ..
        } => sampling::folders(&channel.objects.without(&channel.always)).len(),
        _ => 1,
    }
}

/// So many blocks are drawn of a channel at least.
///
/// In a block of about a row's length none may begin, and a canary without rows ends the job. Several hold some unless the rows
/// are very uneven; of a few, half leaves room for other sizes.
fn fewest_blocks(channel: &ChannelData, total: usize) -> usize {
    const SEVERAL: usize = 8;
    let rows = channel.rows.as_ref();
    match rows.is_some_and(RowBlocks::are_about_a_row) {
        true => SEVERAL.min(total / 2).max(1),
        false => 1,
    }
}

/// The most characters of columns' names in an error.
const LONGEST_NAMES: usize = 60;

/// Two samples of tables that share a column and have each another: a join of a tenth of each has a hundredth of the rows. Where one has no
/// column of its own, as a test set without the label, they are parts of one table. Without headers two channels are asked about by their
/// counts of columns.
fn refuse_joined_tables(job: &Job, dataset: &Dataset) -> Result<(), PlanError> {
    let tables: Vec<(&ChannelData, &RowFile)> = dataset
        .sampled()
        .filter(|channel| !matches!(channel.rule, DrawRule::With(_)))
        .flat_map(|channel| channel.tables().map(move |file| (channel, file)))
        .collect();
    // What a file of a pull request says.
    let escaped = |text: &str| {
        let shown = text.chars().take(LONGEST_NAMES);
        shown.flat_map(char::escape_debug).collect::<String>()
    };
    let words = |(channel, file): &(&ChannelData, &RowFile)| {
        format!("`{}` of channel `{}`", escaped(&file.key), channel.name)
    };
    let mut of_two = (tables.iter().enumerate())
        .flat_map(|(place, table)| tables[..place].iter().map(move |earlier| [earlier, table]));
    let joined = of_two.find_map(|pair| {
        let names = shared(pair.map(|(_, file)| file.columns.as_slice()));
        let names = names.map(|names| escaped(&distinct(names).join("`/`")));
        let [one, other] = pair.map(|(_, file)| file.unnamed_columns());
        let is_of_one = pair[0].0.name == pair[1].0.name
            || pair.iter().any(|(channel, _)| pairs::is_part(channel));
        let counts = one.zip(other).filter(|(one, other)| !is_of_one && one != other);
        let known = (names.map(|names| format!("share the column `{names}`"))).or_else(|| {
            counts.map(|(one, other)| format!("have no header, and {one} and {other} columns"))
        })?;
        let [one, other] = pair.map(words);
        let why = format!(
            "canaries get a sample of two tables of job `{}`, {one} and {other}, which {known}: where the script joins them, a sample of each gives far fewer rows than its share, and no forecast holds",
            job.name
        );
        Some(PlanError::NoCanaries(Reason::new(why).advising(
            "write `sample: false` for the channel whose rows the others look up, or name their files under `always` where one channel holds both; or `canary: {joined: false}` where the script joins no tables",
        )))
    });
    joined.map_or(Ok(()), Err)
}

/// The columns by which two tables may be joined; none where all of one are in the other, which is then a part of the same table.
fn shared([earlier, columns]: [&[String]; 2]) -> Option<[&str; 2]> {
    let is_part = |part: &[String], of: &[String]| {
        let is_in = |name: &String| of.iter().any(|other| name.eq_ignore_ascii_case(other));
        part.iter().all(is_in)
    };
    let pairs = (columns.iter()).flat_map(|name| earlier.iter().map(move |of| [&**name, of]));
    let is_one_table = is_part(columns, earlier) || is_part(earlier, columns);
    let mut pairs = pairs.filter(|_| !is_one_table);
    pairs.find(|[name, of]| may_be_one(name, of))
}

/// Whether two columns may say the same: by their names in any case, or as the `id` of one table and the `customer_id` of another.
fn may_be_one(one: &str, other: &str) -> bool {
    let refers = |name: &str, id: &str| {
        id.eq_ignore_ascii_case("id") && name.to_ascii_lowercase().ends_with("_id")
    };
    one.eq_ignore_ascii_case(other) || refers(one, other) || refers(other, one)
}

/// What of the draw a reader should know.
fn draw_notes(dataset: &Dataset, notes: &mut Vec<String>) {
    for channel in dataset.sampled() {
        match &channel.rule {
            DrawRule::Share {
                by: DrawUnit::Folder,
                ..
            } => {
                let folders = fewest_objects(channel);
                notes.push(match folders {
                    1 => format!(
                        "All files of channel {} lie in one folder, so `by: folder` has no effect.",
                        channel.name
                    ),
                    _ => format!(
                        "Every canary has files of all {folders} top folders of channel {}, so at least {} of its {}.",
                        channel.name,
                        Fraction(share(folders, channel.drawn())),
                        count(channel.drawn(), "file"),
                    ),
                });
            }
            DrawRule::With(name) => {
                let mut channels = dataset.channels.iter();
                let Some(leader) = channels.find(|leader| leader.name == *name) else {
                    continue;
                };
                for (one, other) in [(leader, channel), (channel, leader)] {
                    // What every canary gets needs no partner.
                    let drawn = one.objects.without(&one.always);
                    let alone = drawn.len() - canary::partners(&other.objects, &drawn).len();
                    if alone > 0 {
                        notes.push(format!(
                            "{} of the {} of channel {} {} no partner of the same stem in channel {}.",
                            alone,
                            count(drawn.len(), "file"),
                            one.name,
                            if alone == 1 { "has" } else { "have" },
                            other.name,
                        ));
                    }
                }
            }
            DrawRule::Share { .. } => {}
        }
    }
}

/// N: the object count of the smallest sampled channel.
fn sampled_objects(job: &Job, dataset: &Dataset) -> Result<usize, PlanError> {
    let name = &job.name;
    let Some(smallest) = dataset.smallest() else {
        let why = format!(
            "no channel of job `{name}` is sampled, so no canary can be smaller than the full run"
        );
        let advice = "take `sample: false` off the channel that holds the training data";
        return Err(PlanError::NoCanaries(Reason::new(why).advising(advice)));
    };
    let total = smallest.drawn();
    if total > 1 {
        return Ok(total);
    }
    let channel = &smallest.name;
    let why = Reason::new(format!(
        "channel `{channel}` of job `{name}` has one object; a canary needs several to draw from"
    ));
    let mut keys = smallest.objects.iter().map(|object| &object.key);
    // By its name rows can be drawn of it.
    Err(PlanError::NoCanaries(match keys.find(|key| RowFormat::of_name(key).is_ok()) {
        Some(of_rows) => why.advising(format!(
            "write `sample: rows` on channel `{channel}`: canaries get rows of `{of_rows}`, in a file of the same name; or split it into partition files, 100 or more"
        )),
        None => why.advising(
            "split the data into partition files, 100 or more; a canary draws whole files; or write `share` if the script can draw its own share, or `sample: false` and `work`",
        ),
    }))
}

/// One run, at the full work unless its size is one of work.
fn draw(job: &Job, dataset: &Dataset, size: DrawSize, replicate: u32) -> CanaryRun {
    let total = total_of(job, dataset);
    let channels = match job.differs_in_work_alone() {
        true => dataset.channels.clone(),
        false => sampling::draw(dataset, size.objects, total, job.canary.seed, replicate),
    };
    let sampled = channels.iter().filter(|channel| channel.sampled);
    CanaryRun {
        fraction: match &job.share {
            // The script draws exactly what it is handed.
            Some(_) => Fraction(share(size.objects, total)),
            None => size.fraction,
        },
        share: (job.share.as_ref()).map(|share| HandedShare::of_canary(share, size.objects as u64)),
        work: level_of_size(job, size.fraction),
        replicate,
        bytes: sampled.map(ChannelData::bytes).sum(),
        channels,
        objects: size.objects as u64,
        max_runtime: Some(job.canary.max_runtime),
        ..full_run(job, dataset)
    }
}

/// The objects of the smallest sampled channel, or the parts of a share that the script draws.
pub(super) fn total_of(job: &Job, dataset: &Dataset) -> usize {
    let parts = job.share.as_ref().map(|share| share.full.parts());
    let parts = parts.and_then(|parts| usize::try_from(parts).ok());
    parts.or_else(|| dataset.objects_total()).unwrap_or(0)
}

fn share(objects: usize, total: usize) -> f64 {
    count_as_float(objects) / count_as_float(total)
}
