//! `prices update`: AWS's published prices, beside the spec; needs no credentials.

use crate::aws::offer_file;
use crate::backend::sagemaker::price;
use crate::cli::PricesCommand;
use crate::console::{AppError, AppResult, files, printable, say, warn};
use crate::git::GitCheckout;
use crate::grammar::count;
use crate::instance::price_file::PriceFile;
use crate::workspace::environment::pace;
use crate::workspace::project::today;
use crate::workspace::written_spec::{WrittenSpec, from_here};
use crate::workspace::{environment_region, price_file};

pub(crate) fn prices(PricesCommand::Update { spec, region }: &PricesCommand) -> AppResult<u8> {
    let WrittenSpec { spec, file, folder } = WrittenSpec::find(spec, None)?;
    let region = region.clone().or(spec.region);
    let region = region.or_else(environment_region).unwrap_or_default();
    let is_of_region = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if region.is_empty() || !region.bytes().all(is_of_region) {
        let what = match region.is_empty() {
            true => "no AWS region is named".to_owned(),
            false => format!("`{region}` is no region of AWS"),
        };
        return Err(AppError::usage(what).help(
            "name one with `--region us-east-1`, write `region` into the spec, or set AWS_REGION",
        ));
    }
    let place = price_file::beside(&file);
    let root = GitCheckout::find(&folder)?.map_or(folder, |git| git.root().to_owned());
    files::check_target(&place, &root)?;
    let of = (price::SERVICE, region.as_str());
    let published = offer_file::open(of, price::LARGEST_OFFER_FILE, pace()?);
    let published = published.and_then(|file| price::published(file, &region, today()));
    let published = published.map_err(|why| {
        AppError::failed(format!(
            "AWS's published prices for {region} could not be read: {why}"
        ))
        .help(
            "check the region and the network, and start it again; or write `prices` into the spec",
        )
    })?;
    // Only now, as another update may have written another region meanwhile.
    let mut kept = price_file::read(&place).unwrap_or_else(|error| {
        warn("prices", &format!("{}; it is replaced", error.in_a_line()));
        PriceFile::default()
    });
    kept.0.insert(region.clone(), published);
    files::write_readable(&place, kept.text().as_bytes(), &root)?;
    let written = &kept.0[&region];
    say(&format!(
        "wrote {}: {} in {region}, as AWS published them on {}\ncommit it: a pull request is judged by the file of its base",
        printable(&from_here(&place).to_string_lossy()),
        count(written.usd_per_hour.len(), "price"),
        written.published,
    ));
    Ok(0)
}
