//! The colours of a page, light and dark: the only place that has any.

/// The contrast against each ground of text (WCAG 2.2, 1.4.3) and of graphics (1.4.11); grounds, lines of a grid and borders need none.
const TEXT: f64 = 4.5;
const GRAPHIC: f64 = 3.0;

/// The variable of the style sheet, the contrast that it needs, and its colour on a light and on a dark screen.
type PaletteRow = (&'static str, f64, u32, u32);

const PALETTE: [PaletteRow; 14] = [
    ("ground", 0.0, 0xff_ff_ff, 0x0d_11_17),
    ("raised", 0.0, 0xf6_f8_fa, 0x15_1b_23),
    ("ink", TEXT, 0x1f_23_28, 0xf0_f6_fc),
    ("muted", TEXT, 0x59_63_6e, 0x91_98_a1),
    ("link", TEXT, 0x09_69_da, 0x44_93_f8),
    ("good", TEXT, 0x11_63_29, 0x3f_b9_50),
    ("bad", TEXT, 0xa4_0e_26, 0xff_7b_72),
    ("doubtful", TEXT, 0x7d_4e_00, 0xd2_99_22),
    ("border", 0.0, 0xd1_d9_e0, 0x3d_44_4d),
    ("plot-purple", GRAPHIC, 0x82_50_df, 0xab_7d_f8),
    ("plot-green", GRAPHIC, 0x1a_7f_37, 0x3f_b9_50),
    ("plot-blue", GRAPHIC, 0x09_69_da, 0x58_a6_ff),
    ("plot-orange", GRAPHIC, 0xbc_4c_00, 0xf0_88_3e),
    ("plot-grid", 0.0, 0xd1_d9_e0, 0x3d_44_4d),
];

/// The variables of the style sheet. Paper is light.
pub(super) fn variables() -> String {
    let set = |colour: fn(&PaletteRow) -> u32| {
        let variable = |row: &PaletteRow| format!("--{}:#{:06x};", row.0, colour(row));
        PALETTE.iter().map(variable).collect::<String>()
    };
    format!(
        ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n\
         @media print{{:root{{color-scheme:light}}}}\n",
        set(|row| row.2),
        set(|row| row.3),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUNDS: [&str; 2] = ["ground", "raised"];

    /// Relative luminance, <https://www.w3.org/TR/WCAG22/#dfn-relative-luminance>.
    fn luminance(colour: u32) -> f64 {
        let [_, red, green, blue] = colour.to_be_bytes();
        let linear = |channel: u8| {
            let share = f64::from(channel) / 255.0;
            match share <= 0.04045 {
                true => share / 12.92,
                false => ((share + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    /// <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>
    fn contrast(one: u32, other: u32) -> f64 {
        let [one, other] = [one, other].map(luminance);
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// By <https://webaim.org/resources/contrastchecker/>.
    #[test]
    fn contrast_is_that_of_wcag() {
        let white = 0xff_ff_ff;
        for (colour, expected) in [
            (0, 21.0),
            (white, 1.0),
            (0x76_76_76, 4.54),
            (0xff_00_00, 4.0),
        ] {
            assert!(
                (contrast(colour, white) - expected).abs() < 0.005,
                "{colour:?}"
            );
        }
    }

    #[test]
    fn each_colour_stands_out_from_each_ground() {
        let schemes: [fn(&PaletteRow) -> u32; 2] = [|row| row.2, |row| row.3];
        for colour in schemes {
            for row in &PALETTE {
                for ground in PALETTE.iter().filter(|row| GROUNDS.contains(&row.0)) {
                    let found = contrast(colour(row), colour(ground));
                    assert!(found >= row.1, "{} on {}: {found:.2}", row.0, ground.0);
                }
            }
        }
    }

    #[test]
    fn the_style_sheet_names_no_other_colour() {
        let style = include_str!("style.css");
        assert!(!style.contains('#') && !style.contains("rgb"), "{style}");
        for part in style.split("var(--").skip(1) {
            let name = part.split(')').next().unwrap();
            assert!(PALETTE.iter().any(|row| row.0 == name), "{name}");
        }
    }
}
