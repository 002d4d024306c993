package record

// spellings are further names by the codes: of ISO 3166-1, of Unicode's CLDR as in Google Analytics, and of daily use.
var spellings = map[string]string{
	"AE": "UAE|Emirates", "AX": "Aland", "BN": "Brunei Darussalam", "BO": "Bolivia, Plurinational State of",
	"BQ": "Caribbean Netherlands|Bonaire", "CC": "Cocos Islands|Keeling Islands",
	"CD": "Congo - Kinshasa|Congo, The Democratic Republic of the|Congo (DRC)|Democratic Republic of the Congo|DRC|Zaire",
	"CG": "Congo|Congo - Brazzaville|Republic of the Congo",
	"CI": "Côte d'Ivoire|Côte d'Ivoire (Ivory Coast)|Cote d Ivoire",
	"CN": "China mainland|Mainland China|People's Republic of China", "CV": "Cape Verde|Cabo Verde (Cape Verde)",
	"CZ": "Czech Republic|Czechia (Czech Republic)", "DE": "Federal Republic of Germany",
	"FK": "Falkland Islands (Malvinas)|Falkland Islands (Islas Malvinas)|Malvinas",
	"FM": "Micronesia, Federated States of|Federated States of Micronesia", "FO": "Faeroe Islands",
	"GB": "UK|Great Britain|Britain|England|Scotland|Wales|Northern Ireland|" +
		"United Kingdom of Great Britain and Northern Ireland",
	"GS": "South Georgia", "HK": "Hong Kong SAR China|Hong Kong SAR|Hong Kong (China)",
	"HM": "Heard Island and McDonald Islands", "IO": "Chagos Archipelago",
	"IR": "Iran, Islamic Republic of|Islamic Republic of Iran", "KG": "Kyrgyz Republic",
	"KP": "Korea, Democratic People's Republic of|Democratic People's Republic of Korea|DPRK|Korea, North",
	"KR": "Korea, Republic of|Republic of Korea|Korea, South|South Korea (Republic of Korea)",
	"LA": "Lao People's Democratic Republic|Lao PDR|Lao", "LY": "Libyan Arab Jamahiriya",
	"MD": "Moldova, Republic of|Republic of Moldova", "MF": "Saint Martin (French part)",
	"MK": "Macedonia|Republic of North Macedonia|Macedonia (FYROM)|FYROM|Macedonia, the former Yugoslav Republic of|" +
		"The former Yugoslav Republic of Macedonia",
	"MM": "Myanmar (Burma)|Burma", "MO": "Macau|Macao SAR China|Macao SAR|Macau SAR China|Macao, China",
	"MV": "Maldive Islands", "NL": "Holland|Netherlands (Kingdom of the)", "PN": "Pitcairn",
	"PS": "Palestinian Territories|Palestine, State of|State of Palestine|Palestinian Territory, Occupied|" +
		"Palestinian Territory|Occupied Palestinian Territory",
	"RE": "Reunion Island", "RU": "Russian Federation|Russia (Russian Federation)",
	"SH": "Saint Helena, Ascension and Tristan da Cunha|Saint Helena, Ascension and Tristan", "SJ": "Svalbard",
	"SK": "Slovak Republic", "ST": "Sao Tome", "SX": "Sint Maarten (Dutch part)|Saint Maarten",
	"SY": "Syrian Arab Republic", "SZ": "Swaziland|Eswatini (Swaziland)",
	"TF": "French Southern and Antarctic Lands|French Southern and Antarctic Territories",
	"TL": "East Timor|Timor Leste (East Timor)", "TR": "Turkey|Turkiye (Turkey)",
	"TW": "Taiwan, Province of China|Taiwan (Republic of China)|Chinese Taipei|Taiwan, China",
	"TZ": "Tanzania, United Republic of|United Republic of Tanzania",
	"UM": "United States Minor Outlying Islands|US Minor Outlying Islands|US Outlying Islands|United States Outlying Islands",
	"US": "USA|United States of America|U.S.A.|U.S.",
	"VA": "Holy See|Holy See (Vatican City State)|Vatican|Vatican City State",
	"VE": "Venezuela, Bolivarian Republic of",
	"VG": "Virgin Islands, British|British Virgin Islands (BVI)",
	"VI": "Virgin Islands, U.S.|US Virgin Islands|United States Virgin Islands", "VN": "Viet Nam",
	"WF": "Wallis & Futuna Islands", "WS": "Western Samoa",
}
