"""What the packages' kinds are called in the table of words: nodes, kinds of shops, countries, states, function words."""

from __future__ import annotations

__all__ = ["CONTINENTS", "COUNTRIES", "FUNCTION_WORDS", "NODES", "SHOPS", "STATES"]

# Nodes that are added to WordNet's, each with its parent. Those of towns, years and countries are made in make_words.py.
NODES = {
    "commercial site": "web site",
    "site of an organization": "web site",
    "site of a school": "web site",
    "site of a government": "web site",
    "personal site": "web site",
    "site about travel": "web site",
    "site about news": "web site",
    "site about sports": "web site",
    "site about music": "web site",
    "site about films": "web site",
    "site about games": "web site",
    "site about computers": "web site",
    "site about work": "web site",
    "site about money": "web site",
    "site about cars": "web site",
    "site about weather": "web site",
    "site about food": "web site",
    "site about shopping": "web site",
    "site about homes": "web site",
    "site about learning": "web site",
    "site about animals": "web site",
    "site about conversation": "web site",
    "e-mail address": "address",
    "long number": "number (sense 2)",
    "code of letters and digits": "code",
    "given name of women": "first name",
    "given name of men": "first name",
    "full name": "name",
    "possible name": "name",
    "rare name": "name",
    "initials": "abbreviation",
    "word in another script": "word",
    "arabic word": "word in another script",
    "chinese or japanese word": "word in another script",
    "cyrillic word": "word in another script",
    "devanagari word": "word in another script",
    "greek word": "word in another script",
    "hangul word": "word in another script",
    "hebrew word": "word in another script",
    "thai word": "word in another script",
    "word of symbols": "symbol",
}

# The last word of a path of the name suggestion index, or its first: a noun of WordNet, at its first sense.
SHOPS = {
    "shop": "shop", "office": "company", "craft": "company",
    "agrarian": "shop", "alcohol": "liquor store", "appliance": "shop", "art": "shop", "baby_goods": "shop",
    "bakery": "bakery", "bank": "depository financial institution", "bar": "bar", "beauty": "beauty shop",
    "bicycle": "shop", "books": "bookstore", "bureau_de_change": "financial institution",
    "butcher": "butcher shop", "cafe": "cafe", "car": "car company", "car_parts": "shop",
    "car_rental": "company", "car_repair": "repair shop", "car_sharing": "company", "car_wash": "company",
    "casino": "casino", "charging_station": "company", "charity": "charity", "childcare": "company",
    "cinema": "movie theater", "clothes": "clothing store", "coffee": "cafe", "college": "college",
    "computer": "computer store", "confectionery": "candy store", "convenience": "convenience store",
    "coworking": "company", "deli": "shop", "department_store": "department store",
    "doityourself": "hardware store", "driving_school": "school", "dry_cleaning": "dry cleaners",
    "electronics": "shop", "employment_agency": "employment agency", "estate_agent": "company",
    "fast_food": "restaurant", "financial": "financial institution",
    "financial_advisor": "financial institution", "fitness_centre": "health club", "florist": "florist shop",
    "fuel": "gas station", "furniture": "shop", "gift": "gift shop", "hairdresser": "barbershop",
    "hardware": "hardware store", "hostel": "hostel", "hotel": "hotel", "ice_cream": "restaurant",
    "insurance": "insurance company", "it": "company", "jewelry": "jewelry store",
    "kindergarten": "school", "language_school": "school", "laundry": "dry cleaners", "lawyer": "law firm",
    "library": "institution", "logistics": "transportation company", "mobile_phone": "telephone company",
    "money_lender": "financial institution", "money_transfer": "financial institution", "mortgage": "financial institution",
    "motel": "motel", "motorcycle": "company", "moving_company": "moving company", "music_school": "school",
    "newsagent": "newsstand", "parcel_locker": "transportation company", "parking": "company",
    "pawnbroker": "pawnshop", "payment_centre": "financial institution", "pet": "pet shop",
    "post_office": "transportation company", "prep_school": "school", "pub": "pub", "restaurant": "restaurant",
    "school": "school", "second_hand": "shop", "shoes": "shoe shop", "sports": "shop",
    "storage_rental": "company", "supermarket": "supermarket", "tax_advisor": "company",
    "telecommunication": "telephone company", "theme_park": "theme park", "tobacco": "tobacco shop",
    "toys": "toyshop", "training": "school", "travel_agency": "travel agency", "truck": "company",
    "truck_rental": "company", "university": "university", "variety_store": "discount store",
    "veterinary": "institution", "wholesale": "wholesale house", "bowling_alley": "bowling alley",
    "political_party": "political party", "union": "union", "atm": "financial institution",
    "consulting": "consulting firm", "mall": "shopping mall", "bookmaker": "company", "lottery": "company",
    "gambling": "company", "fashion_accessories": "shop", "association": "association",
}  # fmt: skip

CONTINENTS = ("africa", "asia", "europe", "north america", "oceania", "south america")

# Codes of countries, as GeoNames and sites use them (UK is GB's): names in small letters and continents.
COUNTRIES = {
    "AE": ("the united arab emirates", "asia"), "AF": ("afghanistan", "asia"), "AL": ("albania", "europe"),
    "AM": ("armenia", "asia"), "AO": ("angola", "africa"), "AR": ("argentina", "south america"),
    "AT": ("austria", "europe"), "AU": ("australia", "oceania"), "AZ": ("azerbaijan", "asia"),
    "BA": ("bosnia", "europe"), "BD": ("bangladesh", "asia"), "BE": ("belgium", "europe"),
    "BG": ("bulgaria", "europe"), "BO": ("bolivia", "south america"), "BR": ("brazil", "south america"),
    "BY": ("belarus", "europe"), "CA": ("canada", "north america"), "CD": ("congo", "africa"),
    "CH": ("switzerland", "europe"), "CI": ("ivory coast", "africa"), "CL": ("chile", "south america"),
    "CM": ("cameroon", "africa"), "CN": ("china", "asia"), "CO": ("colombia", "south america"),
    "CR": ("costa rica", "north america"), "CU": ("cuba", "north america"), "CZ": ("the czech republic", "europe"),
    "DE": ("germany", "europe"), "DK": ("denmark", "europe"), "DO": ("the dominican republic", "north america"),
    "DZ": ("algeria", "africa"), "EC": ("ecuador", "south america"), "EE": ("estonia", "europe"),
    "EG": ("egypt", "africa"), "ES": ("spain", "europe"), "ET": ("ethiopia", "africa"),
    "FI": ("finland", "europe"), "FR": ("france", "europe"), "GB": ("the united kingdom", "europe"),
    "GE": ("georgia in asia", "asia"), "GH": ("ghana", "africa"), "GR": ("greece", "europe"),
    "GT": ("guatemala", "north america"), "HK": ("hong kong", "asia"), "HN": ("honduras", "north america"),
    "HR": ("croatia", "europe"), "HU": ("hungary", "europe"), "ID": ("indonesia", "asia"),
    "IE": ("ireland", "europe"), "IL": ("israel", "asia"), "IN": ("india", "asia"), "IQ": ("iraq", "asia"),
    "IR": ("iran", "asia"), "IS": ("iceland", "europe"), "IT": ("italy", "europe"),
    "JM": ("jamaica", "north america"), "JO": ("jordan", "asia"), "JP": ("japan", "asia"),
    "KE": ("kenya", "africa"), "KH": ("cambodia", "asia"), "KR": ("south korea", "asia"),
    "KW": ("kuwait", "asia"), "KZ": ("kazakhstan", "asia"), "LB": ("lebanon", "asia"),
    "LK": ("sri lanka", "asia"), "LT": ("lithuania", "europe"), "LU": ("luxembourg", "europe"),
    "LV": ("latvia", "europe"), "LY": ("libya", "africa"), "MA": ("morocco", "africa"),
    "MD": ("moldova", "europe"), "MG": ("madagascar", "africa"), "MK": ("macedonia", "europe"),
    "MM": ("myanmar", "asia"), "MN": ("mongolia", "asia"), "MX": ("mexico", "north america"),
    "MY": ("malaysia", "asia"), "MZ": ("mozambique", "africa"), "NG": ("nigeria", "africa"),
    "NI": ("nicaragua", "north america"), "NL": ("the netherlands", "europe"), "NO": ("norway", "europe"),
    "NP": ("nepal", "asia"), "NZ": ("new zealand", "oceania"), "OM": ("oman", "asia"),
    "PA": ("panama", "north america"), "PE": ("peru", "south america"), "PH": ("the philippines", "asia"),
    "PK": ("pakistan", "asia"), "PL": ("poland", "europe"), "PR": ("puerto rico", "north america"),
    "PT": ("portugal", "europe"), "PY": ("paraguay", "south america"), "QA": ("qatar", "asia"),
    "RO": ("romania", "europe"), "RS": ("serbia", "europe"), "RU": ("russia", "europe"),
    "SA": ("saudi arabia", "asia"), "SD": ("sudan", "africa"), "SE": ("sweden", "europe"),
    "SG": ("singapore", "asia"), "SI": ("slovenia", "europe"), "SK": ("slovakia", "europe"),
    "SN": ("senegal", "africa"), "SV": ("el salvador", "north america"), "SY": ("syria", "asia"),
    "TH": ("thailand", "asia"), "TN": ("tunisia", "africa"), "TR": ("turkey", "asia"), "TW": ("taiwan", "asia"),
    "TZ": ("tanzania", "africa"), "UA": ("ukraine", "europe"), "UG": ("uganda", "africa"),
    "US": ("the united states", "north america"), "UY": ("uruguay", "south america"),
    "UZ": ("uzbekistan", "asia"), "VE": ("venezuela", "south america"), "VN": ("vietnam", "asia"),
    "YE": ("yemen", "asia"), "ZA": ("south africa", "africa"), "ZM": ("zambia", "africa"),
    "ZW": ("zimbabwe", "africa"),
}  # fmt: skip

# States of the United States, as GeoNames and the post abbreviate them.
STATES = {
    "AL": "alabama", "AK": "alaska", "AZ": "arizona", "AR": "arkansas", "CA": "california", "CO": "colorado",
    "CT": "connecticut", "DE": "delaware", "DC": "the district of columbia", "FL": "florida", "GA": "georgia",
    "HI": "hawaii", "ID": "idaho", "IL": "illinois", "IN": "indiana", "IA": "iowa", "KS": "kansas",
    "KY": "kentucky", "LA": "louisiana", "ME": "maine", "MD": "maryland", "MA": "massachusetts",
    "MI": "michigan", "MN": "minnesota", "MS": "mississippi", "MO": "missouri", "MT": "montana",
    "NE": "nebraska", "NV": "nevada", "NH": "new hampshire", "NJ": "new jersey", "NM": "new mexico",
    "NY": "new york", "NC": "north carolina", "ND": "north dakota", "OH": "ohio", "OK": "oklahoma",
    "OR": "oregon", "PA": "pennsylvania", "RI": "rhode island", "SC": "south carolina", "SD": "south dakota",
    "TN": "tennessee", "TX": "texas", "UT": "utah", "VT": "vermont", "VA": "virginia", "WA": "washington",
    "WV": "west virginia", "WI": "wisconsin", "WY": "wyoming",
}  # fmt: skip

# Function words that are no stop words: contractions as they are typed, and those of the languages next to English.
FUNCTION_WORDS = """
    arent cant couldnt didnt doesnt dont hadnt hasnt havent ive isnt shes shouldnt thats theres theyre
    wasnt werent whats wheres whos wont wouldnt youre youve gonna gotta wanna lets
    aux avec cette dans des elle est les leur mais nos notre nous ont par pas pour que qui ses sont sur une vos votre vous
    aber als auch auf aus bei beim bin bis das dem den der dich dir doch durch ein eine einem einen einer eines
    fur gegen haben hat ich ihr ihre im ist kann kein keine mein meine mich mir mit nach nicht noch nur oder ohne
    sein seine sich sie sind uber und uns unter vom von vor war waren wie wir zu zum zur
    como con cual cuando del desde donde ella ellos era eres esta este esto hasta las los mas muy pero
    por porque que quien sin sobre son sus una unos
    che chi con dal dalla degli dei della delle gli nel nella non per piu quella questo sono sul
    com dos das nao para pela pelo uma voce
    aan bij dat deze een het maar niet ook te uit van voor wat zijn
"""
