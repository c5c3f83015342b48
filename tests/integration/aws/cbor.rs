//! CBOR of Smithy's RPC v2 protocol as JSON values; timestamps are epoch seconds.

use aws_smithy_cbor::data::Type;
use aws_smithy_cbor::decode::DeserializeError;
use aws_smithy_cbor::{Decoder, Encoder};
use serde_json::{Map, Value, json};

/// A whole request body.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, DeserializeError> {
    value(&mut Decoder::new(bytes))
}

fn value(decoder: &mut Decoder<'_>) -> Result<Value, DeserializeError> {
    Ok(match decoder.datatype()? {
        Type::Map | Type::MapIndef => {
            let mut map = Map::new();
            let count = decoder.map()?;
            while !at_end(decoder, count, map.len())? {
                let key = decoder.string()?;
                map.insert(key, value(decoder)?);
            }
            Value::Object(map)
        }
        Type::Array | Type::ArrayIndef => {
            let mut list = Vec::new();
            let count = decoder.list()?;
            while !at_end(decoder, count, list.len())? {
                list.push(value(decoder)?);
            }
            Value::Array(list)
        }
        Type::String | Type::StringIndef => json!(decoder.string()?),
        Type::Bool => json!(decoder.boolean()?),
        Type::Null => {
            decoder.null()?;
            Value::Null
        }
        Type::Tag => json!(decoder.timestamp()?.as_secs_f64()),
        Type::F16 | Type::F32 => json!(decoder.float()?),
        Type::F64 => json!(decoder.double()?),
        _ => json!(decoder.long()?),
    })
}

/// Whether a list or map has no further element; the mark at the end of one without a length is taken.
fn at_end(
    decoder: &mut Decoder<'_>,
    count: Option<u64>,
    read: usize,
) -> Result<bool, DeserializeError> {
    match count {
        Some(count) => Ok(u64::try_from(read).is_ok_and(|read| read >= count)),
        None if decoder.datatype()? == Type::Break => {
            decoder.skip()?;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// JSON as CBOR; numbers in a list under a key `Timestamps` become timestamps, all other numbers stay what they are.
pub(super) fn encode(value: &Value) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    write(&mut encoder, value, false);
    encoder.into_writer()
}

fn write(encoder: &mut Encoder, value: &Value, are_timestamps: bool) {
    match value {
        Value::Null => {
            encoder.null();
        }
        Value::Bool(bool) => {
            encoder.boolean(*bool);
        }
        Value::String(text) => {
            encoder.str(text);
        }
        Value::Number(number) => {
            let float = number.as_f64().unwrap_or_default();
            if are_timestamps {
                encoder.timestamp(&aws_smithy_types::DateTime::from_secs_f64(float));
            } else if let Some(whole) = number.as_i64() {
                encoder.long(whole);
            } else {
                encoder.double(float);
            }
        }
        Value::Array(list) => {
            encoder.array(list.len());
            for value in list {
                write(encoder, value, are_timestamps);
            }
        }
        Value::Object(map) => {
            encoder.map(map.len());
            for (key, value) in map {
                encoder.str(key);
                write(encoder, value, key == "Timestamps");
            }
        }
    }
}
