//! What is asked of AWS before anything is listed: who we are, whether the buckets are there, and what machines cost.

use std::collections::{BTreeMap, BTreeSet};

use super::price;
use super::session::JobSession;
use crate::aws::call::{Call, CallError};
use crate::aws::s3::Request;
use crate::aws::s3_uri::S3Uri;
use crate::instance::{InstanceType, Price};
use crate::outside_error::OutsideError;

const IDENTITY: Call<'_> = Call("sts:GetCallerIdentity");
const PRODUCTS: Call<'_> = Call("pricing:GetProducts");

impl JobSession<'_> {
    /// Who we are, and whether every bucket of the job is there and in the job's region. Reads only.
    pub(super) async fn check_access(&self) -> Result<(), OutsideError> {
        let job = self.job;
        let aws = self.backend.aws();
        let asking = self.backend.asking.lock().await;
        if !self.backend.state.borrow().has_access {
            let identity = aws.sts.get_caller_identity().send().await;
            (IDENTITY.heard(identity))
                .map_err(|error| error.to_error("find out who is signed in"))?;
            self.backend.state.borrow_mut().has_access = true;
        }
        drop(asking);
        let channels = job.training.channels.iter();
        let channels = channels.map(|one| (format!("channels.{}.uri", one.name), one.uri.as_str()));
        let output = job.training.sagemaker.output.as_deref();
        let output = output.map(|output| ("output".to_owned(), output));
        let mut seen = BTreeSet::new();
        for (field, uri) in channels.chain(output) {
            let is_output = field == "output";
            let field = format!("jobs.{}.training.{field}", job.name);
            // A file system is in no bucket.
            let Ok(mut place) = S3Uri::read(uri, &field) else {
                continue;
            };
            if is_output {
                place = place.as_folder();
            }
            if seen.insert(place.bucket.clone()) {
                // One key, which the policy of the least rights allows where a look at the bucket itself is not.
                let request = Request::list(&aws.s3, &field, &place);
                let listed = request.listing().max_keys(1).send().await;
                listed.map_err(|error| request.refused(&error))?;
            }
        }
        Ok(())
    }

    /// Today's prices of these types, as far as the price list may be read and has them. Each is asked for once in a run.
    pub(super) async fn read_prices(
        &self,
        kinds: &BTreeSet<&InstanceType>,
    ) -> BTreeMap<InstanceType, Price> {
        if kinds.is_empty() {
            return BTreeMap::new();
        }
        let region = self.backend.aws().region;
        if !price::is_listed(&region) {
            self.note(format!(
                "the price list has no prices in US dollars for {region}; write them under `prices`"
            ));
            return BTreeMap::new();
        }
        let _asking = self.backend.asking.lock().await;
        for kind in kinds {
            let is_settled = {
                let known = self.backend.state.borrow();
                known.no_prices.is_some() || known.prices.contains_key(kind)
            };
            if is_settled {
                continue;
            }
            let price = self.read_price(kind).await;
            let known = &mut self.backend.state.borrow_mut();
            match price {
                Ok(price) => drop(known.prices.insert((*kind).clone(), price)),
                Err(error) => known.no_prices = Some(error.to_string()),
            }
        }
        let known = self.backend.state.borrow();
        if let Some(error) = &known.no_prices {
            self.note(format!(
                "today's prices could not be read, so the built-in prices are used ({error})"
            ));
        }
        let price =
            |kind: &&InstanceType| Some(((*kind).clone(), known.prices.get(*kind)?.clone()?));
        kinds.iter().filter_map(price).collect()
    }

    async fn read_price(&self, kind: &InstanceType) -> Result<Option<Price>, CallError> {
        let aws = self.backend.aws();
        let today = format!("{:.10}", jiff::Timestamp::now().to_string());
        let listing = (aws.pricing.get_products().service_code(price::SERVICE))
            .set_filters(Some(price::filters(kind, &aws.region)))
            .into_paginator();
        let list = PRODUCTS.heard(listing.items().send().try_collect().await)?;
        Ok(price::parse(&list, kind, &aws.region, &today))
    }
}
