package record

import (
	"slices"
	"strings"
	"sync"
)

// CountryName is the English name of a country by its code of ISO 3166-1 in capital letters, or "". Names
// have the form that PostHog's own events have them: that of the GeoIP data that it looks addresses up in.
func CountryName[T string | []byte](code T) string { return countries[string(code)] }

// CountryCode is the code of ISO 3166-1 of a country's English name, or "" if the name is unknown or could be that of
// two countries. It knows the names that CountryName gives, and the other spellings in use. The case of letters,
// accents, punctuation, "&" for "and" and "St" for "Saint" make no difference. A code is a name too.
func CountryCode(name string) string {
	if len(name) > longestCountry {
		return ""
	}
	if _, isCode := countries[name]; isCode {
		return name
	}
	codes := countryCodes()
	if code, isSpelled := codes.asSpelled[name]; isSpelled {
		return code
	}
	return codes.byKey[countryKey(name)]
}

// longestCountry is more bytes than any name of a country has.
const longestCountry = 100

// codesOfCountries has the codes by the keys of the names, and by the names as they are spelled here.
type codesOfCountries struct{ byKey, asSpelled map[string]string }

var countryCodes = sync.OnceValue(func() codesOfCountries {
	codes := codesOfCountries{byKey: make(map[string]string, 2*len(countries)), asSpelled: make(map[string]string, 2*len(countries))}
	add := func(code, name string) { codes.byKey[countryKey(name)], codes.asSpelled[name] = code, code }
	for code, name := range countries {
		add(code, name)
	}
	for code, names := range spellings {
		for name := range strings.SplitSeq(names, "|") {
			add(code, name)
		}
	}
	return codes
})

// countryKey is a name in small letters, without accents, punctuation, and articles.
func countryKey(name string) string {
	name = plain.Replace(strings.ToLower(name))
	words := strings.FieldsFunc(name, func(r rune) bool { return r < 'a' || r > 'z' })
	words = slices.DeleteFunc(words, func(word string) bool { return word == "the" })
	for i, word := range words {
		if word == "st" {
			words[i] = "saint"
		}
	}
	return strings.Join(words, " ")
}

// plain has the letters with accents that occur in names of countries. Apostrophes stay within a word.
var plain = strings.NewReplacer("&", " and ", "'", "", "\u2019", "", "`", "", "å", "a", "ã", "a", "á", "a", "ç", "c", "é", "e",
	"è", "e", "í", "i", "ó", "o", "ô", "o", "ü", "u", "\u0301", "", "\u0302", "", "\u0303", "", "\u0308", "", "\u030a", "", "\u0327", "")

// countries are the names by the codes.
var countries = map[string]string{
	"AD": "Andorra", "AE": "United Arab Emirates", "AF": "Afghanistan", "AG": "Antigua and Barbuda",
	"AI": "Anguilla", "AL": "Albania", "AM": "Armenia", "AO": "Angola", "AQ": "Antarctica", "AR": "Argentina",
	"AS": "American Samoa", "AT": "Austria", "AU": "Australia", "AW": "Aruba", "AX": "Åland Islands",
	"AZ": "Azerbaijan", "BA": "Bosnia and Herzegovina", "BB": "Barbados", "BD": "Bangladesh", "BE": "Belgium",
	"BF": "Burkina Faso", "BG": "Bulgaria", "BH": "Bahrain", "BI": "Burundi", "BJ": "Benin",
	"BL": "Saint Barthélemy", "BM": "Bermuda", "BN": "Brunei", "BO": "Bolivia",
	"BQ": "Bonaire, Sint Eustatius, and Saba", "BR": "Brazil", "BS": "Bahamas", "BT": "Bhutan",
	"BV": "Bouvet Island", "BW": "Botswana", "BY": "Belarus", "BZ": "Belize", "CA": "Canada",
	"CC": "Cocos (Keeling) Islands", "CD": "DR Congo", "CF": "Central African Republic", "CG": "Congo Republic",
	"CH": "Switzerland", "CI": "Ivory Coast", "CK": "Cook Islands", "CL": "Chile", "CM": "Cameroon",
	"CN": "China", "CO": "Colombia", "CR": "Costa Rica", "CU": "Cuba", "CV": "Cabo Verde", "CW": "Curaçao",
	"CX": "Christmas Island", "CY": "Cyprus", "CZ": "Czechia", "DE": "Germany", "DJ": "Djibouti", "DK": "Denmark",
	"DM": "Dominica", "DO": "Dominican Republic", "DZ": "Algeria", "EC": "Ecuador", "EE": "Estonia",
	"EG": "Egypt", "EH": "Western Sahara", "ER": "Eritrea", "ES": "Spain", "ET": "Ethiopia", "FI": "Finland",
	"FJ": "Fiji", "FK": "Falkland Islands", "FM": "Micronesia", "FO": "Faroe Islands", "FR": "France",
	"GA": "Gabon", "GB": "United Kingdom", "GD": "Grenada", "GE": "Georgia", "GF": "French Guiana",
	"GG": "Guernsey", "GH": "Ghana", "GI": "Gibraltar", "GL": "Greenland", "GM": "The Gambia", "GN": "Guinea",
	"GP": "Guadeloupe", "GQ": "Equatorial Guinea", "GR": "Greece",
	"GS": "South Georgia and the South Sandwich Islands", "GT": "Guatemala", "GU": "Guam", "GW": "Guinea-Bissau",
	"GY": "Guyana", "HK": "Hong Kong", "HM": "Heard and McDonald Islands", "HN": "Honduras", "HR": "Croatia",
	"HT": "Haiti", "HU": "Hungary", "ID": "Indonesia", "IE": "Ireland", "IL": "Israel", "IM": "Isle of Man",
	"IN": "India", "IO": "British Indian Ocean Territory", "IQ": "Iraq", "IR": "Iran", "IS": "Iceland",
	"IT": "Italy", "JE": "Jersey", "JM": "Jamaica", "JO": "Jordan", "JP": "Japan", "KE": "Kenya",
	"KG": "Kyrgyzstan", "KH": "Cambodia", "KI": "Kiribati", "KM": "Comoros", "KN": "St Kitts and Nevis",
	"KP": "North Korea", "KR": "South Korea", "KW": "Kuwait", "KY": "Cayman Islands", "KZ": "Kazakhstan",
	"LA": "Laos", "LB": "Lebanon", "LC": "Saint Lucia", "LI": "Liechtenstein", "LK": "Sri Lanka", "LR": "Liberia",
	"LS": "Lesotho", "LT": "Lithuania", "LU": "Luxembourg", "LV": "Latvia", "LY": "Libya", "MA": "Morocco",
	"MC": "Monaco", "MD": "Moldova", "ME": "Montenegro", "MF": "Saint Martin", "MG": "Madagascar",
	"MH": "Marshall Islands", "MK": "North Macedonia", "ML": "Mali", "MM": "Myanmar", "MN": "Mongolia",
	"MO": "Macao", "MP": "Northern Mariana Islands", "MQ": "Martinique", "MR": "Mauritania", "MS": "Montserrat",
	"MT": "Malta", "MU": "Mauritius", "MV": "Maldives", "MW": "Malawi", "MX": "Mexico", "MY": "Malaysia",
	"MZ": "Mozambique", "NA": "Namibia", "NC": "New Caledonia", "NE": "Niger", "NF": "Norfolk Island",
	"NG": "Nigeria", "NI": "Nicaragua", "NL": "The Netherlands", "NO": "Norway", "NP": "Nepal", "NR": "Nauru",
	"NU": "Niue", "NZ": "New Zealand", "OM": "Oman", "PA": "Panama", "PE": "Peru", "PF": "French Polynesia",
	"PG": "Papua New Guinea", "PH": "Philippines", "PK": "Pakistan", "PL": "Poland",
	"PM": "Saint Pierre and Miquelon", "PN": "Pitcairn Islands", "PR": "Puerto Rico", "PS": "Palestine",
	"PT": "Portugal", "PW": "Palau", "PY": "Paraguay", "QA": "Qatar", "RE": "Réunion", "RO": "Romania",
	"RS": "Serbia", "RU": "Russia", "RW": "Rwanda", "SA": "Saudi Arabia", "SB": "Solomon Islands",
	"SC": "Seychelles", "SD": "Sudan", "SE": "Sweden", "SG": "Singapore", "SH": "Saint Helena", "SI": "Slovenia",
	"SJ": "Svalbard and Jan Mayen", "SK": "Slovakia", "SL": "Sierra Leone", "SM": "San Marino", "SN": "Senegal",
	"SO": "Somalia", "SR": "Suriname", "SS": "South Sudan", "ST": "São Tomé and Príncipe", "SV": "El Salvador",
	"SX": "Sint Maarten", "SY": "Syria", "SZ": "Eswatini", "TC": "Turks and Caicos Islands", "TD": "Chad",
	"TF": "French Southern Territories", "TG": "Togo", "TH": "Thailand", "TJ": "Tajikistan", "TK": "Tokelau",
	"TL": "Timor-Leste", "TM": "Turkmenistan", "TN": "Tunisia", "TO": "Tonga", "TR": "Türkiye",
	"TT": "Trinidad and Tobago", "TV": "Tuvalu", "TW": "Taiwan", "TZ": "Tanzania", "UA": "Ukraine",
	"UG": "Uganda", "UM": "U.S. Outlying Islands", "US": "United States", "UY": "Uruguay", "UZ": "Uzbekistan",
	"VA": "Vatican City", "VC": "St Vincent and Grenadines", "VE": "Venezuela", "VG": "British Virgin Islands",
	"VI": "U.S. Virgin Islands", "VN": "Vietnam", "VU": "Vanuatu", "WF": "Wallis and Futuna", "WS": "Samoa",
	"XK": "Kosovo", "YE": "Yemen", "YT": "Mayotte", "ZA": "South Africa", "ZM": "Zambia", "ZW": "Zimbabwe",
}
