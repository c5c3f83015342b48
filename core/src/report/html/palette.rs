//! The colours of a page, light and dark: the only place that has any.

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rgb(pub(super) u8, pub(super) u8, pub(super) u8);

impl Rgb {
    fn css(self) -> String {
        let Self(red, green, blue) = self;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// What a colour is for, which sets how much contrast it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColourUse {
    /// Behind everything.
    Ground,
    /// 4.5:1 against each ground (WCAG 2.2, 1.4.3).
    Text,
    /// 3:1 against each ground (WCAG 2.2, 1.4.11).
    Graphic,
    /// Parts nothing from nothing: lines of a grid, borders.
    Decoration,
}

/// The variable of the style sheet, its use, and its colour on a light and on a dark screen.
type PaletteRow = (&'static str, ColourUse, Rgb, Rgb);

const PALETTE: [PaletteRow; 14] = [
    (
        "ground",
        ColourUse::Ground,
        Rgb(255, 255, 255),
        Rgb(13, 17, 23),
    ),
    (
        "raised",
        ColourUse::Ground,
        Rgb(246, 248, 250),
        Rgb(21, 27, 35),
    ),
    ("ink", ColourUse::Text, Rgb(31, 35, 40), Rgb(240, 246, 252)),
    (
        "muted",
        ColourUse::Text,
        Rgb(89, 99, 110),
        Rgb(145, 152, 161),
    ),
    ("link", ColourUse::Text, Rgb(9, 105, 218), Rgb(68, 147, 248)),
    ("good", ColourUse::Text, Rgb(17, 99, 41), Rgb(63, 185, 80)),
    ("bad", ColourUse::Text, Rgb(164, 14, 38), Rgb(255, 123, 114)),
    (
        "doubtful",
        ColourUse::Text,
        Rgb(125, 78, 0),
        Rgb(210, 153, 34),
    ),
    (
        "border",
        ColourUse::Decoration,
        Rgb(209, 217, 224),
        Rgb(61, 68, 77),
    ),
    (
        "plot-first",
        ColourUse::Graphic,
        Rgb(130, 80, 223),
        Rgb(171, 125, 248),
    ),
    (
        "plot-second",
        ColourUse::Graphic,
        Rgb(26, 127, 55),
        Rgb(63, 185, 80),
    ),
    (
        "plot-third",
        ColourUse::Graphic,
        Rgb(9, 105, 218),
        Rgb(88, 166, 255),
    ),
    (
        "plot-fourth",
        ColourUse::Graphic,
        Rgb(188, 76, 0),
        Rgb(240, 136, 62),
    ),
    (
        "plot-grid",
        ColourUse::Decoration,
        Rgb(209, 217, 224),
        Rgb(61, 68, 77),
    ),
];

/// The variables of the style sheet. Paper is light.
pub(super) fn variables() -> String {
    let set = |colour: fn(&PaletteRow) -> Rgb| {
        let variable = |row: &PaletteRow| format!("--{}:{};", row.0, colour(row).css());
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

    /// Relative luminance, <https://www.w3.org/TR/WCAG22/#dfn-relative-luminance>.
    fn luminance(Rgb(red, green, blue): Rgb) -> f64 {
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
    fn contrast(one: Rgb, other: Rgb) -> f64 {
        let [one, other] = [one, other].map(luminance);
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// By <https://webaim.org/resources/contrastchecker/>.
    #[test]
    fn contrast_is_that_of_wcag() {
        let white = Rgb(255, 255, 255);
        for (colour, expected) in [
            (Rgb(0, 0, 0), 21.0),
            (white, 1.0),
            (Rgb(0x76, 0x76, 0x76), 4.54),
            (Rgb(255, 0, 0), 4.0),
        ] {
            assert!(
                (contrast(colour, white) - expected).abs() < 0.005,
                "{colour:?}"
            );
        }
    }

    #[test]
    fn each_colour_stands_out_from_each_ground() {
        let schemes: [fn(&PaletteRow) -> Rgb; 2] = [|row| row.2, |row| row.3];
        for colour in schemes {
            for (name, least, row) in PALETTE.iter().filter_map(|row| match row.1 {
                ColourUse::Text => Some((row.0, 4.5, row)),
                ColourUse::Graphic => Some((row.0, 3.0, row)),
                ColourUse::Ground | ColourUse::Decoration => None,
            }) {
                for ground in PALETTE.iter().filter(|row| row.1 == ColourUse::Ground) {
                    let found = contrast(colour(row), colour(ground));
                    assert!(found >= least, "{name} on {}: {found:.2}", ground.0);
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
